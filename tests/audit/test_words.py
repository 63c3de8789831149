"""The sentences say what the numbers say."""

import copy
import dataclasses

import numpy as np
import pytest

import bisimulator
from bisimulator.audit import words
from bisimulator.audit.analysis import audit
from bisimulator.audit.audited_policy import read_policy
from bisimulator.audit.trajectories import score_values


def statements(result):
    return dict(words.summary_statements(result))


def with_row(result, start_scores=None, **numbers):
    """The same audit with other exact numbers of the groups."""
    other = copy.copy(result)
    other.__dict__["row"] = dataclasses.replace(result.row, **numbers)
    if start_scores is not None:
        levels = score_values(result.env)
        share = (np.array(start_scores) - levels[0]) / (levels[-1] - levels[0])
        initial = np.stack([1 - share, 0 * share, 0 * share, share], axis=1)
        other.__dict__["chain"] = dataclasses.replace(result.chain, initial=initial)
    return other


@pytest.mark.parametrize(
    ("rates", "verdict"), [((0.5, 0.39), "below"), ((0.5, 0.4), "not below"), ((0.4, 0.5), "not below")]
)
def test_the_four_fifths_rule(result, rates, verdict):
    text = statements(with_row(result, rates=rates))["Who is accepted"]
    assert f"{min(rates) / max(rates):.2f} of the higher, {verdict} the .80" in text
    assert (
        f"{max(rates):.0%} of applications are accepted in group {'down' if rates[1] > rates[0] else '<b>up</b>'}"
        in text
    )


def test_nobody_is_accepted(result):
    assert statements(with_row(result, rates=(0.0, 0.0)))["Who is accepted"] == "Nobody is accepted."


def test_who_is_rejected(result):
    text = statements(with_row(result, recalls=(0.755, 0.25)))["Who is rejected although they would repay"]
    assert "75% are rejected in group down, against 24% in group <b>up</b>" in text


@pytest.mark.parametrize(
    ("end", "way"),
    [((600, 400), "further apart"), ((510, 500), "closer together"), ((600, 500.5), "about as far apart")],
)
def test_where_people_end_up(result, end, way):
    text = statements(with_row(result, start_scores=(600, 500), scores=end))["Where people end up"]
    assert way in text
    assert "<b>up</b> from 600 to" in text


def test_what_it_earns_names_the_bound(result):
    text = statements(result)["What it earns"]
    assert (
        f"can earn more than {result.earned + result.regret:,.0f}; this one stays {result.regret:,.0f} below"
        in text
    )
    assert "a default -2" in text


@pytest.mark.parametrize(
    ("policy", "rule"), [("300", "accept-all"), ("900", "reject-all"), ("600", "threshold"), ("700", "")]
)
def test_a_policy_that_equals_a_simple_rule_is_said_to(policy, rule, env):
    text = statements(audit(read_policy(policy, env), people="", seeds=2, episodes=1))["What it earns"]
    assert ("It decides exactly like the rule" in text) == bool(rule)
    assert text.endswith(f"exactly like the rule {rule}." if rule else "%.")


def test_a_simulated_policy_that_accepts_everybody_is_said_to(env):
    seen = env.with_omega(np.full((2, 2), 1.5, np.float32))
    result = audit(read_policy("-5", seen), people="", seeds=2, episodes=1)
    text = statements(result)["What it earns"]
    assert text.endswith("In every simulated episode it decides like the rule accept-all.")


def test_a_rule_is_not_compared_with_itself(env):
    text = statements(audit(read_policy("accept-all", env), people="", seeds=2, episodes=1))["What it earns"]
    assert "It decides exactly like" not in text


def test_the_use_of_the_group_is_reported_only_if_there_is_one(result, env):
    assert "differently by group" in statements(result)["What it looks at"]
    same = audit(read_policy("600", env), people="", seeds=3, episodes=2)
    assert "What it looks at" not in statements(same)


def test_the_certificate_in_words(result):
    entry = result.certificate.entry("loans", "episode")
    text = " ".join(words.certificate_sentences(result))
    assert (
        f"can expect {entry.values[0]:.2f} loans over the whole time, one of group down {entry.values[1]:.2f}"
        in text
    )
    assert f"differ by {entry.bound:.2f} on average" in text
    assert "with score " in text


@pytest.mark.long
def test_one_group_has_nothing_to_compare():
    alone = bisimulator.make("lending", groups=1, population=50, horizon=100)
    result = audit(read_policy("3", alone), people="", seeds=2, episodes=1)
    assert set(statements(result)) <= {"What it earns", "What is possible without earning less"}
    assert words.certificate_sentences(result) == ["There is only one group, so there is nothing to compare."]


def test_an_estimate_is_said_to_be_one(env):
    seen = env.with_omega(np.full((2, 2), 1.5, np.float32))
    result = audit(read_policy("600", seen), people="", seeds=3, episodes=2)
    assert result.table is None
    assert not result.looks_at_group
    assert not result.is_exact
    assert result.best.upper_bound.shape == (31,)
    text = " ".join(words.certificate_sentences(result))
    assert "no proof for this policy, only an estimate" in text
    assert "95% interval" in text


def test_assumptions_follow_the_parameters(result):
    text = " ".join(words.assumptions(result))
    assert "4 bins of 100 to 150 points" in text
    assert "raises the score by 1 bins, a default lowers it by 1 bins" in text
    assert "a default -2" in text


def test_the_summary_says_whether_it_is_exact(result, env):
    assert words.summary_note(result).startswith("These numbers are exact expectations.")
    seen = env.with_omega(np.full((2, 2), 1.5, np.float32))
    simulated = audit(read_policy("600", seen), people="", seeds=3, episodes=2)
    assert words.summary_note(simulated).startswith("All numbers are simulated")


def test_shares_near_the_ends_keep_a_decimal():
    assert [words._percent(x) for x in (0, 0.004, 0.5, 0.996, 1)] == ["0%", "0.4%", "50%", "99.6%", "100%"]
