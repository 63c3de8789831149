"""The policies that an audit names are what it says of them."""

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing.alternatives import Alternative, alternative_for, fairest_alternative
from bisimulator.auditing.group_numbers import exact_row
from bisimulator.auditing.split_bins import split_bins
from bisimulator.exact.chain import expect
from bisimulator.exact.frontier import frontier
from bisimulator.goals import Goal
from bisimulator.goals.demands import MinRecall


@pytest.fixture(scope="module")
def split(env):
    return split_bins(env, [610])[0]


def demand_of(text):
    (demand,) = Goal.parse(text).demands
    return demand


@pytest.fixture(scope="module")
def best(env):
    return frontier(env, levels=np.linspace(0.8, 1, 5))


def test_the_fairer_policy_earns_no_less_and_is_the_fairest_of_the_frontier(best, env, split):
    row = exact_row("audited", split, bisimulator.policies.thresholds((5, 3)))
    found = fairest_alternative(best, env, split, row, group_blind=False)
    exact = expect(env, found.table)
    assert found.row.earned == pytest.approx(exact.average_return, rel=1e-6)
    assert exact.average_return >= row.earned
    assert exact.recall.min() > row.smallest_recall
    fairest = best.stationary_recalls.min(1)[best.stationary_value >= row.earned].max()
    assert exact.recall.min() == pytest.approx(fairest, abs=1e-3)
    assert found.row.smallest_recall == pytest.approx(exact.recall.min(), rel=1e-6)
    assert found.bound >= found.row.earned


def test_there_is_none_for_a_policy_that_earns_the_most(best, env, split):
    row = exact_row(
        "best", split, bisimulator.policies.table(np.repeat(best.policy(0, stationary=True), 2, axis=1))
    )
    assert fairest_alternative(best, env, split, row, group_blind=False) is None


@pytest.mark.parametrize("goal", ["min-recall=0.9", "approval-gap=0.1"])
def test_the_policy_for_a_goal_meets_it_with_round_numbers(goal, env, split):
    demand = demand_of(goal)
    found = alternative_for(demand, env, split, group_blind=False)
    moments = expect(env, found.table).moments
    rates = demand.rates(moments, np)
    assert demand.slack(rates, moments[:, demand.denominator] > 0, np).min() >= -1e-6
    np.testing.assert_allclose(found.table, np.round(found.table, 3), atol=1e-12)
    assert found.row.earned <= found.bound + 1e-6
    assert found.row.name == f"best for {goal}"


def test_a_group_blind_policy_treats_groups_alike(env, split):
    found = alternative_for(demand_of("min-recall=0.9"), env, split, group_blind=True)
    np.testing.assert_array_equal(found.table[0], found.table[1])
    assert expect(env, found.table).recall.min() >= 0.9 - 1e-6


def test_a_goal_that_no_policy_meets_has_none(env, split):
    assert alternative_for(demand_of("min-return=1000"), env, split, group_blind=False) is None


@pytest.mark.parametrize(
    ("table", "thresholds"),
    [
        ([[0, 0, 1, 1], [0, 1, 1, 1]], {"<b>up</b>": 600, "down": 450}),
        ([[1, 1, 1, 1], [0, 0, 0, 1]], {"<b>up</b>": 300, "down": 700}),
        ([[0, 0.5, 1, 1], [0, 1, 1, 1]], None),
        ([[0, 1, 0, 1], [0, 1, 1, 1]], None),
        ([[0, 0, 0, 0], [0, 1, 1, 1]], None),
    ],
)
def test_thresholds_where_it_is_one_per_group(table, thresholds, env):
    row = exact_row("x", env, bisimulator.policies.accept_all())
    assert Alternative(MinRecall(0.9), np.array(table, float), row, 1.0, env).thresholds == thresholds
