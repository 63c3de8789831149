"""The numbers of an audit, against exact answers."""

import math

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing.analysis import audit_policy, rare_groups
from bisimulator.auditing.audited_policy import AuditedPolicy
from bisimulator.auditing.group_numbers import PolicyRow
from bisimulator.auditing.trajectories import exact_trajectories
from bisimulator.exact import chain
from bisimulator.exact.visits import max_visits


def test_the_policys_own_table_and_whether_it_looks_at_groups(result, env):
    np.testing.assert_array_equal(result.table, [[0, 0, 1, 1], [0, 1, 1, 1]])
    assert result.looks_at_group


def test_a_policy_with_exact_numbers_is_not_simulated(result, env):
    exact = chain.expect(env, result.table)
    assert result.is_exact
    assert result.consequences.evaluation is None
    np.testing.assert_allclose(result.groups["approval_rate"][0], exact.approved / exact.applied)
    np.testing.assert_allclose(result.groups["loans"][0] * exact.people, exact.approved)
    np.testing.assert_allclose(result.groups["precision"][0] * exact.approved, exact.approved_qualified)
    assert all(np.isnan(half).all() for _, half in result.groups.values())


def test_simulated_numbers_agree_with_exact_ones(result, simulated):
    numbers = simulated.groups
    for column in ("approval_rate", "precision", "score_end", "loans"):
        mean, half = numbers[column]
        assert (half > 0).all()
        assert (abs(mean - result.groups[column][0]) < 2 * half).all(), column
    np.testing.assert_allclose(numbers["share"][0], result.groups["share"][0], atol=0.02)


def test_exact_trajectories_sum_up_to_the_expectation_and_agree_with_the_simulation(result, simulated, env):
    exact, expectation = result.trajectories, chain.expect(env, result.table)
    np.testing.assert_allclose(exact.sums[..., 0].sum(0), expectation.applied)
    np.testing.assert_allclose(exact.sums[..., 1].sum(0), expectation.approved)
    np.testing.assert_allclose(exact.sums[..., 3].sum(0), expectation.approved_qualified)
    np.testing.assert_allclose(exact.score[-1], result.row.scores)
    np.testing.assert_allclose(exact.score[0], result.start_scores)
    trajectories = simulated.trajectories
    np.testing.assert_allclose(exact.time, trajectories.time)
    np.testing.assert_allclose(exact.approval_rate, trajectories.approval_rate, atol=0.06)
    np.testing.assert_allclose(exact.score, trajectories.score, rtol=0.03)


def test_trajectories_of_a_policy_that_looks_at_past_loans(result, env):
    few = bisimulator.make("lending", **{**env.settings, "population": 100, "horizon": 200})
    size = max_visits(few)
    same = np.broadcast_to(result.table[..., None, None], (*result.table.shape, size, size))
    by_history, by_score = exact_trajectories(few, same), exact_trajectories(few, result.table)
    np.testing.assert_allclose(by_history.sums, by_score.sums, atol=1e-9)
    np.testing.assert_allclose(by_history.score, by_score.score)


def test_regret_is_what_the_best_policy_at_the_same_recalls_earns_more(result, env):
    exact = chain.expect(env, result.table)
    assert result.is_exact
    assert result.earned == pytest.approx(exact.average_return)
    assert result.regret == pytest.approx(result.best.best_at(exact.recall) - exact.average_return)
    assert result.regret > 0


def test_the_fairest_policy_that_earns_as_much(result):
    level = result.fairest_at_this_return
    assert result.best.best_at(level) >= result.earned
    assert level == 1 or result.best.best_at(min(level + 1e-4, 1.0)) < result.earned


def test_simple_policies_are_exact(result, env):
    accept, _, reject = result.simple
    exact = chain.expect(env, np.ones((2, 4)))
    assert accept.earned == pytest.approx(exact.average_return)
    assert (accept.smallest_recall, accept.acceptance_ratio) == (1, 1)
    assert (reject.earned, reject.smallest_recall) == (0, 0)
    assert np.isnan(reject.acceptance_ratio)


def test_an_environment_without_a_frontier_is_refused_before_anything_runs():
    college = bisimulator.make("college")
    with pytest.raises(
        ValueError, match="an audit needs a lending environment, such as lending-us-2003, and in 'college'"
    ):
        audit_policy(AuditedPolicy("all", "", college, bisimulator.policies.accept_all()), people="")


def test_the_frontier_is_that_of_true_scores(env):
    seen = env.with_omega(np.full((2, 2), 1.5, np.float32))
    np.testing.assert_array_equal(seen.scenario.person_model.true_omega(seen.params), [[1, 1], [1, 1]])


def test_groups_that_hardly_occur_are_noted():
    small = bisimulator.make("lending", population=30, horizon=60, group_probs=(0.99, 0.01))
    (note,) = rare_groups(small)
    assert "about 0 of the 30 people in the simulation are of group 2" in note


def test_exact_numbers_come_first(result, env):
    exact = chain.expect(env, result.table)
    np.testing.assert_allclose(result.row.rates, exact.approved / exact.applied)
    np.testing.assert_allclose(result.row.recalls, exact.recall)
    np.testing.assert_allclose(
        result.start_scores, np.asarray(env.params.initial) @ [375, 525, 650, 775], rtol=1e-6
    )


def test_in_a_notebook(result):
    lines = repr(result).splitlines()
    assert lines[0] == "Audit: accept <b>up</b> from 600, down from 450, people: a few"
    assert lines[1] == f"  earned (exact): {result.earned:,.0f}"
    html = result._repr_html_()
    assert "&lt;b&gt;up&lt;/b&gt; from 600" in html
    assert "<b>" not in html
    assert "<b>up" not in result.audited._repr_html_()
    assert repr(result.audited).startswith(
        "AuditedPolicy('accept <b>up</b> from 600, down from 450' on 'lending': Accepts "
    )


def test_rows_leave_out_unknown_numbers():
    row = PolicyRow("x", 1.0, (0.5, math.nan, 0.25), (math.nan, 0.5, 0.25), (1.0, 3.0, 2.0))
    assert (row.acceptance_ratio, row.smallest_recall, row.score_gap) == (0.5, 0.25, 2)
