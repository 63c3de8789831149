"""The sentences of the summary say what the numbers say."""

import dataclasses

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing import section_words
from bisimulator.auditing import summary_words as words
from bisimulator.auditing.analysis import audit_policy
from bisimulator.auditing.read_policy import read_policy
from bisimulator.exact.chain import expect
from bisimulator.goals import Goal


def statements(result):
    return dict(words.summary_statements(result))


def with_row(result, **numbers):
    """The same audit with other exact numbers of the groups."""
    groups = {name: (np.array(mean), np.full(2, np.nan)) for name, mean in numbers.items()}
    changed = dataclasses.replace(result.consequences, groups={**result.groups, **groups})
    return dataclasses.replace(result, consequences=changed)


@pytest.mark.parametrize(
    ("rates", "verdict"), [((0.5, 0.39), "below"), ((0.5, 0.4), "not below"), ((0.4, 0.5), "not below")]
)
def test_the_four_fifths_rule(result, rates, verdict):
    text = statements(with_row(result, approval_rate=rates))["Who is accepted"]
    assert f"{min(rates) / max(rates):.2f} of the higher, {verdict} the .80" in text
    assert (
        f"{max(rates):.0%} of applications are accepted in group {'down' if rates[1] > rates[0] else '<b>up</b>'}"
        in text
    )


def test_nobody_is_accepted(result):
    assert statements(with_row(result, approval_rate=(0.0, 0.0)))["Who is accepted"] == "Nobody is accepted."


def test_who_is_rejected(result):
    text = statements(with_row(result, recall=(0.755, 0.25)))["Who is rejected although they would repay"]
    assert "75% are rejected in group down, against 24% in group <b>up</b>" in text


@pytest.mark.parametrize(
    ("end", "way"),
    [((600, 400), "further apart"), ((510, 500), "closer together"), ((600, 500.5), "about as far apart")],
)
def test_where_people_end_up(result, end, way):
    text = statements(with_row(result, score_start=(600, 500), score_end=end))["Where people end up"]
    assert way in text
    assert f"scores is 100 at the start and {abs(end[0] - end[1]):.0f} at the end" in text
    assert f"(<b>up</b> from 600 to {end[0]:.0f}, down from 500 to {end[1]:.0f})." in text


def test_what_it_earns_names_the_bound(result):
    text = statements(result)["What it earns"]
    assert (
        f"can earn more than {result.earned + result.regret:,.0f}; this one stays {result.regret:,.0f} below"
        in text
    )
    assert "a default -2" in text


@pytest.mark.parametrize(("policy", "rule"), [("300", "accept-all"), ("600", "threshold"), ("700", "")])
def test_a_policy_that_equals_a_simple_rule_is_said_to(policy, rule, audit_of):
    text = statements(audit_of(policy))["What it earns"]
    assert ("It decides exactly like the rule" in text) == bool(rule)
    assert text.endswith(f"exactly like the rule {rule}." if rule else "%.")


@pytest.mark.long
def test_a_simulated_policy_that_accepts_everybody_is_said_to(audit_of):
    text = statements(audit_of("300", simulated=True))["What it earns"]
    assert text.endswith("In every simulated episode it decides like the rule accept-all.")


def test_a_verdict_that_restates_accept_all_says_so(env):
    cheap = bisimulator.make("lending", **{**env.settings, "reward_default": -0.3})
    text = statements(audit_policy(read_policy("700", cheap), people="", seeds=3, episodes=2))
    everybody = expect(cheap, np.ones((2, 4))).average_return
    said = text["Accepting everybody would earn more"]
    assert f"Lending to everybody would earn {everybody:,.0f} and reject nobody" in said
    assert "A default costs 0.3 times what a repaid loan earns" in said
    assert "make default too cheap" in said


@pytest.mark.parametrize("policy", ["600", "accept-all", "300"])
def test_it_is_not_said_of_a_policy_that_earns_more_or_accepts_everybody(policy, audit_of):
    assert "Accepting everybody would earn more" not in statements(audit_of(policy))


def test_the_better_policy_is_named(result):
    text = statements(result)["What is possible without earning less"]
    earned, share = result.fairer.row.earned, words.percent(result.fairer.row.smallest_recall)
    assert text.startswith("Accept every group from 450 on. That earns ")
    assert f"That earns {earned:,.0f} and accepts at least {share} of the repayers of every group" in text
    assert (
        "Compared with the audited policy, of group <b>up</b> it also accepts those from 450 to below 600."
        in text
    )
    assert "differently by group" not in text
    assert f"more than {words.percent(result.fairest_at_this_return)}." in text


def test_a_better_policy_that_looks_at_the_group_is_said_to(result):
    by_group = dataclasses.replace(result.fairer, table=np.array([[0, 1, 1, 1.0], [1, 1, 1, 1]]))
    text = statements(dataclasses.replace(result, fairer=by_group))["What is possible without earning less"]
    assert "It treats people with equal scores differently by group" in text


def test_without_one_only_the_limit_is_given(result):
    text = statements(dataclasses.replace(result, fairer=None))["What is possible without earning less"]
    assert text.startswith(
        "No policy by score and group was found that is fairer and earns no less. No policy that"
    )


@pytest.mark.parametrize(("level", "verdict"), [(0.95, "missed"), (0.5, "met")])
def test_a_goal_of_the_user_s(level, verdict, result, env):
    goal = Goal.parse([f"min-recall={level}", "min-return=1000"])
    asked = audit_policy(result.audited, people="", goal=goal)
    text = statements(asked)[f"The goal min-recall={level}"]
    begin = f"Asked: every group's recall is at least {level:g}. Reached: {result.row.smallest_recall:.3g}"
    assert text.startswith(f"{begin}; the goal is {verdict}. The best policy found that meets it: accept ")
    assert f"can earn more than {asked.best.best_at(level):,.0f}" in text
    assert "No policy by score and group was found" in statements(asked)["The goal min-return=1000"]
    assert list(asked.alternatives) == ["fairer_policy", "policy_for_min-recall"]


def test_equal_groups_are_a_tie_in_words(result):
    text = statements(with_row(result, approval_rate=(0.5, 0.5), recall=(0.75, 0.75)))
    assert text["Who is accepted"] == "50% of applications are accepted, in every group."
    assert text["Who is rejected although they would repay"].endswith("25% are rejected, in every group.")


def test_nothing_is_missing_to_the_bound_if_the_policy_is_the_best(audit_of):
    text = statements(audit_of("accept-all"))["What it earns"]
    assert text.endswith("; this one earns as much.")


def test_a_rule_is_not_compared_with_itself(audit_of):
    assert "It decides exactly like" not in statements(audit_of("accept-all"))["What it earns"]


def test_the_use_of_the_group_is_reported_only_if_there_is_one(result, audit_of):
    assert "differently by group" in statements(result)["What it looks at"]
    assert "What it looks at" not in statements(audit_of("600"))


def test_the_certificate_in_words(result):
    entry = result.certificate.entry("loans", "episode")
    text = " ".join(section_words.certificate_sentences(result))
    assert (
        f"can expect {entry.values[0]:.2f} loans over the whole time, one of group down {entry.values[1]:.2f}"
        in text
    )
    assert f"differ by {entry.bound:.2f} on average" in text
    assert "with score " in text


@pytest.mark.long
def test_one_group_has_nothing_to_compare():
    alone = bisimulator.make("lending", groups=1, population=50, horizon=100)
    result = audit_policy(read_policy("3", alone), people="", seeds=3, episodes=2)
    assert set(statements(result)) <= {"What it earns", "What is possible without earning less"}
    assert section_words.certificate_sentences(result) == [
        "There is only one group, so there is nothing to compare."
    ]


def test_an_estimate_is_said_to_be_one(audit_of):
    result = audit_of("600", simulated=True)
    assert result.table is None
    assert not result.looks_at_group
    assert not result.is_exact
    assert result.best.upper_bound.shape == (31,)
    text = " ".join(section_words.certificate_sentences(result))
    assert "no proof for this policy, only an estimate" in text
    assert "95% interval" in text


def test_assumptions_follow_the_parameters(result):
    text = " ".join(section_words.assumptions(result))
    assert "4 bins of 100 to 150 points" in text
    assert "raises the score by 1 bin (of 100 to 150 points each)" in text
    assert "a default -2" in text


def test_the_summary_says_whether_it_is_exact(result, audit_of):
    assert words.summary_note(result).startswith("All numbers of this page are exact expectations")
    simulated = audit_of("600", simulated=True)
    assert words.summary_note(simulated).startswith("This policy's numbers are simulated")


def test_shares_near_the_ends_keep_a_decimal():
    assert [words.percent(x) for x in (0, 0.004, 0.5, 0.996, 1)] == ["0%", "0.4%", "50%", "99.6%", "100%"]
