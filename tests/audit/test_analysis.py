"""What an audit finds, against exact answers."""

import math

import numpy as np
import pytest

import bisimulator
from bisimulator.audit.analysis import Row, audit, rare_groups
from bisimulator.audit.audited_policy import Audited
from bisimulator.exact import chain


def test_the_policys_own_table_and_whether_it_looks_at_groups(found, env):
    np.testing.assert_array_equal(found.table, [[0, 0, 1, 1], [0, 1, 1, 1]])
    assert found.looks_at_group


def test_figures_of_groups_are_near_their_expectations(found, env):
    exact = chain.expect(env, found.table)
    mean, half = found.groups["approval_rate"]
    assert (abs(mean - exact.approved / exact.applied) < 3 * half).all()
    mean, half = found.groups["recall"]
    assert (abs(mean - exact.recall) < 3 * half).all()
    people = env.params.population * np.asarray(env.params.group_probs)
    np.testing.assert_allclose(found.groups["loans"][0], exact.approved / people, rtol=0.15)
    np.testing.assert_allclose(found.groups["share"][0].sum(), 1)


def test_regret_is_what_the_best_policy_at_the_same_recalls_earns_more(found, env):
    exact = chain.expect(env, found.table)
    assert found.is_exact
    assert found.earned == pytest.approx(exact.average_return)
    assert found.regret == pytest.approx(found.best.best_at(exact.recall) - exact.average_return)
    assert found.regret > 0


def test_the_fairest_policy_that_earns_as_much(found):
    level = found.fairest_at_this_return
    assert found.best.best_at(level) >= found.earned
    assert level == 1 or found.best.best_at(min(level + 1e-4, 1.0)) < found.earned


def test_simple_policies_are_exact(found, env):
    accept, _, reject = found.simple
    exact = chain.expect(env, np.ones((2, 4)))
    assert accept.earned == pytest.approx(exact.average_return)
    assert (accept.smallest_recall, accept.acceptance_ratio) == (1, 1)
    assert (reject.earned, reject.smallest_recall) == (0, 0)
    assert np.isnan(reject.acceptance_ratio)


def test_what_is_not_lending_is_refused_before_anything_runs():
    college = bisimulator.make("college")
    with pytest.raises(ValueError, match="no exact answer for 'college'"):
        audit(Audited("all", "", college, bisimulator.policies.accept_all()), people="")


def test_scores_seen_otherwise_are_compared_with_the_true_ones(env):
    seen = env.with_omega(np.full((2, 2), 1.5, np.float32))
    np.testing.assert_array_equal(seen.scenario.person_model.true_omega(seen.params), [[1, 1], [1, 1]])


def test_groups_that_hardly_occur_are_told():
    small = bisimulator.make("lending", population=30, horizon=60, group_probs=(0.99, 0.01))
    (note,) = rare_groups(small)
    assert "about 0 of the 30 people in the simulation are of group 2" in note


def test_rows_leave_out_what_is_not_known():
    row = Row("x", 1.0, (0.5, math.nan, 0.25), (math.nan, 0.5, 0.25), (1.0, 3.0, 2.0))
    assert (row.acceptance_ratio, row.smallest_recall, row.score_gap) == (0.5, 0.25, 2)
