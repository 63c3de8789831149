"""The numbers of an audit, against exact answers."""

import dataclasses
import math

import numpy as np
import pytest

import bisimulator
from bisimulator.audit.analysis import PolicyRow, audit, rare_groups
from bisimulator.audit.audited_policy import AuditedPolicy
from bisimulator.audit.trajectories import simulate_trajectories
from bisimulator.exact import chain


def test_the_policys_own_table_and_whether_it_looks_at_groups(result, env):
    np.testing.assert_array_equal(result.table, [[0, 0, 1, 1], [0, 1, 1, 1]])
    assert result.looks_at_group


def test_numbers_of_groups_are_near_their_expectations(result, env):
    exact = chain.expect(env, result.table)
    # three seeds have intervals that say little, so the same audit with more of them
    evaluation, trajectories = simulate_trajectories(env, result.audited.policy, seeds=40, episodes=2)
    result = dataclasses.replace(result, evaluation=evaluation, trajectories=trajectories)
    mean, half = result.groups["approval_rate"]
    assert (abs(mean - exact.approved / exact.applied) < 3 * half).all()
    mean, half = result.groups["recall"]
    assert (abs(mean - exact.recall) < 3 * half).all()
    people = env.params.population * np.asarray(env.params.group_probs)
    np.testing.assert_allclose(result.groups["loans"][0], exact.approved / people, rtol=0.15)
    np.testing.assert_allclose(result.groups["share"][0].sum(), 1)


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
    with pytest.raises(ValueError, match="no exact answer for 'college'"):
        audit(AuditedPolicy("all", "", college, bisimulator.policies.accept_all()), people="")


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
    assert lines[0] == "Audit of <b>up</b>=600,down=440, people: a few"
    assert lines[1] == f"  earned (exact): {result.earned:,.0f}"
    html = result._repr_html_()
    assert "&lt;b&gt;up&lt;/b&gt;=600" in html
    assert "<b>" not in html
    assert "<b>up" not in result.audited._repr_html_()
    assert repr(result.audited).startswith("AuditedPolicy('<b>up</b>=600,down=440' on 'lending': Accepts ")


def test_rows_leave_out_unknown_numbers():
    row = PolicyRow("x", 1.0, (0.5, math.nan, 0.25), (math.nan, 0.5, 0.25), (1.0, 3.0, 2.0))
    assert (row.acceptance_ratio, row.smallest_recall, row.score_gap) == (0.5, 0.25, 2)
