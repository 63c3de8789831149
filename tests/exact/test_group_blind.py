"""Policies that look at the score only: against all of them on a grid, and against the other columns."""

import numpy as np
import pytest

import bisimulator
from bisimulator.exact._occupancy import groups_of
from bisimulator.exact._stationary import StationaryGroup
from bisimulator.exact.chain import expect, person_chain
from bisimulator.exact.frontier import frontier
from bisimulator.goals import DEMANDS, Moments
from tests.exact.test_criteria import BINDING, CASES

M = Moments()


@pytest.fixture(scope="module")
def tiny():
    return bisimulator.make(
        "lending",
        initial=[[0.2, 0.3, 0.5], [0.5, 0.4, 0.1]],
        repayment=[[0.4, 0.55, 0.9], [0.3, 0.65, 0.8]],
        group_probs=[0.7, 0.3],
        population=5,
        horizon=25,
    )


@pytest.fixture(scope="module")
def grid(tiny):
    """The moments of all policies on a grid, (policies, G, M)."""
    groups = [StationaryGroup(group) for group in groups_of(person_chain(tiny))]
    steps = np.linspace(0, 1, 11)
    accept = np.stack(np.meshgrid(steps, steps, steps), -1).reshape(-1, 3)
    return np.array([[group.moments(row)[0] for group in groups] for row in accept])


@pytest.mark.parametrize("criterion", DEMANDS)
def test_no_policy_on_a_grid_is_better(tiny, grid, criterion):
    free = grid[(5 * (grid[:, :, M.REWARD] @ [0.7, 0.3])).argmax()]
    demand = DEMANDS[criterion](0.0)
    reached = float(demand.reached(demand.rates(free, np), np.ones(2, bool), np))
    # from the level of the best policy without any demand to stricter ones
    levels = reached + np.array([0.0, 0.03, 0.1]) if demand.per_group else reached * np.array([1.0, 0.8, 0.4])
    result = frontier(tiny, criterion, levels=levels, group_blind=True)
    for i, level in enumerate(levels):
        asked = DEMANDS[criterion](level)
        meets = [asked.slack(asked.rates(m, np), np.ones(2, bool), np).min() >= 0 for m in grid]
        if not any(meets):
            continue
        best = (5 * (grid[meets][:, :, M.REWARD] @ [0.7, 0.3])).max()
        assert result.group_blind_value[i] >= best - 1e-6


@pytest.mark.parametrize(("name", "criterion"), CASES)
def test_blind_policies_treat_equal_scores_alike_and_attain_their_values(name, criterion):
    env = bisimulator.make(name, population=20, horizon=200)
    level = BINDING[criterion] / (2 if criterion == "min-return" else 1)
    result = frontier(env, criterion, levels=[level], group_blind=True)
    if np.isnan(result.group_blind_value[0]):
        with pytest.raises(ValueError, match="no policy was found at level"):
            result.policy(0, group_blind=True)
        return
    table = result.policy(0, group_blind=True)
    np.testing.assert_array_equal(table[0], table[1])
    exact, demand = expect(env, table), DEMANDS[criterion](level)
    assert exact.average_return == pytest.approx(result.group_blind_value[0])
    np.testing.assert_allclose(exact.recall, result.group_blind_recalls[0], atol=1e-9)
    assert demand.slack(demand.rates(exact.moments, np), np.ones(2, bool), np).min() >= -1e-6
    assert result.group_blind_value[0] <= result.stationary_value[0] + 1e-9
    assert result.stationary_value[0] <= result.upper_bound[0] + 1e-6


def test_accepting_everybody_is_blind():
    env = bisimulator.make("lending", population=20, horizon=200)
    result = frontier(env, levels=[0.0, 1.0], group_blind=True)
    assert result.group_blind_value[1] == pytest.approx(expect(env, np.ones((2, 7))).average_return)
    assert result.group_blind_value[0] >= result.group_blind_value[1]


def test_looking_at_the_group_is_worth_something():
    """At equal scores the groups repay differently here, so one rule for all costs."""
    env = bisimulator.make("lending", population=20, horizon=200, repayment=[[0.3] * 7, [0.9] * 7])
    result = frontier(env, levels=[0.0], group_blind=True)
    assert result.group_blind_value[0] < 0.9 * result.stationary_value[0]


def test_the_best_without_groups_is_the_same_if_there_is_one():
    env = bisimulator.make("lending", groups=1, population=20, horizon=200)
    result = frontier(env, levels=[0.5, 0.95], group_blind=True)
    np.testing.assert_allclose(result.group_blind_value, result.stationary_value, rtol=1e-6)


def test_without_asking_there_are_none():
    env = bisimulator.make("lending", population=20, horizon=200)
    result = frontier(env, levels=[0.9])
    assert result.group_blind_value is None
    assert result.group_blind_recalls is None
    assert "score only" not in repr(result)
    with pytest.raises(
        ValueError, match=r"no group-blind policies; compute it with frontier\(..., group_blind=True\)"
    ):
        result.policy(0, group_blind=True)


def test_the_column_is_in_text_and_table():
    result = frontier(bisimulator.make("lending", population=20, horizon=200), levels=[0.9], group_blind=True)
    assert f"score only: {result.group_blind_value[0]:.5g})" in repr(result)
    assert "<th>score only</th>" in result._repr_html_()
