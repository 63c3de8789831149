"""A goal on plain arrays: what it measures, what it pays, and what it refuses."""

import gymnasium
import numpy as np
import pytest

from bisimulator.adapters import GoalCorrector
from bisimulator.goals import Goal, GoalConfig
from bisimulator.goals.control import Controller
from bisimulator.goals.moments import decision_moments


@pytest.fixture
def decisions():
    """Rewards, groups, accepted, qualified of 400 decisions; group 0 is accepted far more often."""
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=400)
    accepted = rng.random(400) < np.where(group == 0, 0.9, 0.3)
    return rng.normal(size=400), group, accepted, rng.random(400) < 0.5


def learned(goal, decisions, **options):
    corrector = GoalCorrector(goal, 2, **options)
    corrector.record(*decisions)
    assert corrector.learn()
    return corrector


@pytest.mark.parametrize(
    "goal", ["approval-gap=0.05", "min-recall=0.9", "recall-gap=0.1,raise-only", "return-gap=0"]
)
def test_it_is_the_control_of_the_librarys_own_solvers(goal, decisions):
    reward, group, accepted, qualified = decisions
    never = np.zeros(400, bool)
    controller = Controller(Goal.parse(goal), GoalConfig(), 2, num_scores=1)
    moments = decision_moments(
        reward, accepted, qualified, never, np.zeros(400, int), visits=5.0, num_scores=1
    )
    state = controller.measure(controller.init(), moments, group)
    expected = controller.correction(state, moments, group)
    got = learned(goal, decisions, decisions_per_person=5.0).correction(*decisions)
    assert abs(got).max() > 0.1
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_it_pays_for_what_closes_the_gap(decisions):
    corrector = learned("approval-gap=0.05", decisions)
    accept, reject = (corrector.correction([0.0, 0.0], [0, 1], [flag] * 2) for flag in (1, 0))
    assert accept[0] < reject[0]  # the group that is accepted too often
    assert accept[1] > reject[1]
    described = corrector.describe()
    assert described["approval_gap"] == pytest.approx(
        described["approval_0"] - described["approval_1"], abs=1e-6
    )
    assert described["multiplier/approval-gap_1"] == -described["multiplier/approval-gap_0"] > 0


def test_nothing_is_paid_before_it_learned_or_where_nobody_was_decided_on(decisions):
    corrector = GoalCorrector("approval-gap=0.05", 2)
    assert not corrector.learn()
    corrector.record(*decisions)
    assert not corrector.correction(*decisions).any()
    corrector.learn()
    with_nobody = corrector.correction([1.0, 1.0, 1.0], [0, -1, 1], [1, 1, 1])
    assert with_nobody[1] == 0
    assert with_nobody.all() != with_nobody.any()


def test_decisions_on_nobody_do_not_count(decisions):
    reward, group, accepted, qualified = decisions
    one = learned("approval-gap=0.05", decisions)
    other = GoalCorrector("approval-gap=0.05", 2)
    other.record(reward, np.where(np.arange(400) < 200, group, -1), accepted, qualified)
    assert other.recorded == 200
    other.learn()
    assert one.describe()["approval_0"] == pytest.approx(accepted[group == 0].mean())
    assert other.describe()["approval_0"] == pytest.approx(accepted[:200][group[:200] == 0].mean())


def test_a_goal_that_is_met_pays_nothing(decisions):
    assert not learned("approval-gap=0.9", decisions).correction(*decisions).any()


def test_without_a_goal_it_only_measures(decisions):
    corrector = learned(None, decisions)
    assert not corrector.correction(*decisions).any()
    assert set(corrector.describe()) == {
        f"{rate}_{what}" for rate in ("approval", "recall", "return") for what in (0, 1, "gap")
    }
    assert repr(corrector) == "GoalCorrector(None, groups=2, recorded=400)"


def test_what_is_not_known_is_not_described(decisions):
    reward, group, accepted, _ = decisions
    corrector = GoalCorrector("return-gap=0.1", 2)
    corrector.record(reward, group)
    corrector.learn()
    assert {name.split("_")[0] for name in corrector.describe()} == {"return", "multiplier/return-gap"}
    corrector = GoalCorrector("approval-gap=0.1", 2)
    corrector.record(reward, group, accepted)
    corrector.learn()
    assert "recall_gap" not in corrector.describe()


def test_every_kind_of_acceptance_is_demanded_by_itself(decisions):
    """Both kinds have the gap that the goal forbids; a decision is paid for each."""
    reward, group, accepted, _ = decisions
    large = accepted & (np.arange(400) % 2 == 0)
    both = GoalCorrector("approval-gap=0.05", 2)
    both.record(reward, group, np.stack([accepted, large], -1))
    both.learn()
    assert both.kinds == 2
    alone = [learned("approval-gap=0.05", (reward, group, flags)) for flags in (accepted, large)]
    expected = sum(one.correction(reward, group, f) for one, f in zip(alone, (accepted, large), strict=True))
    got = both.correction(reward, group, np.stack([accepted, large], -1))
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
    assert both.describe()["kind_1/approval_gap"] == pytest.approx(alone[1].describe()["approval_gap"])


def test_shares_of_what_people_need(decisions):
    """Continuous decisions: who gets half of what he or she needs is accepted by half."""
    reward, group, accepted, qualified = decisions
    corrector = GoalCorrector("benefit-gap=0.05", 2)
    corrector.record(reward, group, accepted * 0.5, qualified * 3.0)
    corrector.learn()
    share = (accepted & qualified)[group == 1].sum() / qualified[group == 1].sum() / 2
    assert corrector.describe()["recall_1"] == pytest.approx(share, rel=1e-5)


def test_rates_forget_old_decisions(decisions):
    reward, group, accepted, qualified = decisions
    corrector = learned("approval-gap=0.05", decisions, control={"window": 401.0})
    corrector.record(reward, group, np.ones(400), qualified)
    corrector.learn()
    faded = accepted[group == 1].mean() / np.e
    assert corrector.describe()["approval_1"] == pytest.approx((faded + 1) / (1 / np.e + 1), abs=0.01)
    for _ in range(2):
        corrector.record(reward, group, np.ones(400), qualified)
    assert not corrector.learn()  # more than the window, so they were measured at once


def test_it_continues_from_what_was_saved(decisions):
    corrector = learned(["approval-gap=0.05", "min-recall=0.9"], decisions)
    again = GoalCorrector(["approval-gap=0.05", "min-recall=0.9"], 2)
    again.load_state_dict(corrector.state_dict())
    assert again.recorded == 400
    np.testing.assert_array_equal(again.correction(*decisions), corrector.correction(*decisions))
    fresh = GoalCorrector("approval-gap=0.05", 2)
    fresh.load_state_dict(fresh.state_dict())  # before anything was recorded
    assert fresh.describe() == {}
    with pytest.raises(ValueError, match="saved for another goal"):
        GoalCorrector("approval-gap=0.05", 2).load_state_dict(learned(None, decisions).state_dict())
    with pytest.raises(ValueError, match=r"must have shape \(kinds, 3, 7\), got \(1, 2, 7\)"):
        GoalCorrector(["approval-gap=0.05", "min-recall=0.9"], 3).load_state_dict(corrector.state_dict())


def test_a_librarys_environment_says_how_often_people_apply():
    env = gymnasium.make("bisimulator/LendingLife-v0", population=100, horizon=700)
    corrector = GoalCorrector.from_env(env, "return-gap=1")
    assert (corrector.num_groups, corrector.decisions_per_person) == (2, 7.0)
    assert "return-gap=1" in corrector._repr_html_()


def test_wrong_use(decisions):
    reward, group, accepted, _ = decisions
    with pytest.raises(ValueError, match=r"credit-gap needs people's final scores.*bisimulator.train"):
        GoalCorrector("credit-gap=2", 2)
    with pytest.raises(TypeError, match=r"no parameter 'etta'\. Did you mean 'eta'"):
        GoalCorrector("approval-gap=0.05", 2, control={"etta": 1})
    with pytest.raises(ValueError, match=r"min-recall=0.9 needs info\['qualified'\].*WithGroups"):
        GoalCorrector("min-recall=0.9", 2).record(reward, group, accepted)
    with pytest.raises(ValueError, match=r"approval-gap=0.1 needs info\['accepted'\].*WithGroups"):
        GoalCorrector("approval-gap=0.1", 2).record(reward, group)
    with pytest.raises(ValueError, match="group must be below num_groups = 2, got 2"):
        GoalCorrector("approval-gap=0.1", 2).record([0.0], [2], [True])
    with pytest.raises(ValueError, match="rewards must be finite"):
        GoalCorrector("approval-gap=0.1", 2).record([np.nan], [0], [True])
