"""What drives an audit, and whether anybody chose it."""

import bisimulator
from bisimulator.auditing.drivers import drivers
from bisimulator.report.text import move_in_words


def test_defaults_are_said_to_be_defaults():
    moves, cost, visits = drivers(bisimulator.make("lending"))
    assert moves.value == "up by 1 point if it is repaid, down by 1 point after a default"
    assert moves.source == "nobody set it: score_up, score_down: defaults of lending"
    assert cost.value == "as much as a repaid loan earns, so a single loan pays where more than 50% repay"
    assert visits.value.startswith("10 times each on average")
    assert all(driver.is_default for driver in (moves, cost, visits))


def test_what_was_set_is_said_to_be_set():
    env = bisimulator.make(
        "lending-us-2003", score_up=2, score_down=4, reward_default=-9, population=50, horizon=100
    )
    moves, cost, visits = drivers(env)
    assert (
        moves.value == "up by 50 points (2 bins) if it is repaid, down by 100 points (4 bins) after a default"
    )
    assert (moves.source, moves.is_default) == ("set for this audit", False)
    assert cost.value == "9 times what a repaid loan earns, so a single loan pays where more than 90% repay"
    assert cost.source == "reward_default set for this audit; reward_repaid: default of lending-us-2003"
    assert (visits.value[:12], visits.source) == ("2 times each", "set for this audit")


def test_rewards_that_no_rate_of_repayment_balances(env):
    odd = bisimulator.make("lending", reward_repaid=0, reward_default=-1)
    assert drivers(odd)[1].value == "a repaid loan is worth 0 and a default -1"
    assert move_in_words(env, 2) == "2 bins (of 100 to 150 points each)"
