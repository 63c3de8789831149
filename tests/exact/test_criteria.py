"""The criteria beside recall and credit: against linear programmes, closed forms and each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import bisimulator
from bisimulator.exact import criteria
from bisimulator.exact._column_generation import ColumnPool
from bisimulator.exact._occupancy import groups_of
from bisimulator.exact._stationary import StationaryGroup, group_moments, slacks
from bisimulator.exact.chain import expect, person_chain
from bisimulator.exact.frontier import frontier
from bisimulator.goals import DEMANDS, Moments
from tests.exact.chains import flow
from tests.exact.test_frontier import small_environments, with_default_omega
from tests.matrix import some

M = Moments()
# levels at which the demand binds in lending with few people
BINDING = {
    "min-recall": 0.9,
    "recall-gap": 0.1,
    "benefit-gap": 0.1,
    "min-approval": 0.8,
    "approval-gap": 0.1,
    "min-return": 1.0,
    "return-gap": 1.0,
    "credit-gap": 2.0,
}


def linear_programme(env, criterion, level):
    """The best return over all occupancies x[g, t, c, a] at a level of approval rates or of returns per person."""
    groups = groups_of(person_chain(env))
    person = groups[0].types[0]
    T, C, G = person.horizon, len(person.initial), len(groups)
    index = np.arange(G * (T + 1) * C * 2).reshape(G, T + 1, C, 2)
    reward, rate = np.zeros((2, G, index.size))
    for g, group in enumerate(groups):
        p = group.types[0]
        for t in range(T):
            reward[g, index[g, t, :, 1]] = p.visit_rate * p.accept_reward
            rate[g, index[g, t, :, 1]] = 1 / T  # everybody applies equally often
    equal, right = flow(env, groups, index)
    rates = rate if "approval" in criterion else reward
    if criterion.startswith("min"):
        below, bound = -rates, -level
    else:
        below, bound = (rates[:, None] - rates[None]).reshape(-1, index.size), level
    sizes = np.array([group.size for group in groups])
    result = linprog(-(sizes @ reward), A_ub=below, b_ub=np.full(len(below), bound), A_eq=equal, b_eq=right)
    return -result.fun if result.status == 0 else None


@given(
    small_environments(groups=(1, 3)),
    st.sampled_from(["min-approval", "approval-gap", "min-return", "return-gap"]),
    st.sampled_from([0.0, 0.05, 0.3, 0.7, 1.0]),
)
@settings(max_examples=40)
def test_the_optimum_over_all_occupancies(env, criterion, level):
    env = with_default_omega(env)
    result, exact = frontier(env, criterion, levels=[level]), linear_programme(env, criterion, level)
    if exact is None:
        assert np.isnan(result.value[0])
        assert np.isnan(result.best_at(level))
        return
    scale = max(1.0, abs(exact))
    assert result.value[0] == pytest.approx(exact, abs=2e-6 * scale)
    assert result.upper_bound[0] >= exact - 1e-6 * scale
    demand = DEMANDS[criterion](level)
    rates = result.rates[0][:, None]
    assert demand.slack(rates, np.ones(len(rates), bool), np).min() >= -1e-6
    assert result.stationary_value[0] <= result.upper_bound[0] + 1e-6 or np.isnan(result.stationary_value[0])


CASES = [
    *(("lending", criterion) for criterion in DEMANDS),
    *(("lending-conscientiousness", criterion) for criterion in ("min-recall", "approval-gap", "return-gap")),
]


@pytest.mark.parametrize(("name", "criterion"), CASES)
def test_stationary_policies_meet_the_demand_and_attain_their_values(name, criterion):
    env = bisimulator.make(name, population=20, horizon=200)
    level = BINDING[criterion]
    result = frontier(env, criterion, levels=[level])
    exact, demand = expect(env, result.policy(0, stationary=True)), DEMANDS[criterion](level)
    assert exact.average_return == pytest.approx(result.stationary_value[0])
    np.testing.assert_allclose(exact.recall, result.stationary_recalls[0], atol=1e-9)
    assert demand.slack(demand.rates(exact.moments, np), np.ones(2, bool), np).min() >= -1e-6
    assert result.stationary_value[0] <= result.upper_bound[0] + 1e-6
    if criterion != "min-return":
        assert result.upper_bound[0] < result.best_at(
            0.0 if demand.per_group else 7.0 if demand.max_level > 1 else 1.0
        )


def test_a_return_gap_is_closed_by_capping_the_better_off():
    """Nobody can be given more than the best return, so those above the worst-off group's are capped."""
    env = bisimulator.make("lending")
    result = frontier(env, "return-gap", levels=[0.0, 1.0, 2.5, 100.0])
    highest = result.unconstrained_rates
    capped = np.minimum(highest, highest.min() + result.levels[:, None])
    np.testing.assert_allclose(result.value, 500 * capped.sum(1), rtol=1e-6)
    np.testing.assert_allclose(result.upper_bound, result.value, rtol=1e-6)
    np.testing.assert_array_equal(result.levelling_down, [True, True, True, False])


def test_a_return_that_can_be_reached_costs_nothing_and_more_is_out_of_reach():
    env = bisimulator.make("lending", population=20, horizon=200)
    free = frontier(env, "min-return", levels=[0.0])
    worst = free.unconstrained_rates.min()
    result = frontier(env, "min-return", levels=[-5.0, worst - 1e-9, worst + 1e-3])
    np.testing.assert_allclose(result.value[:2], free.value[0])
    assert np.isnan(result.value[2])
    assert np.isnan(result.upper_bound[2])
    with pytest.raises(ValueError, match="no policy was found at level"):
        result.policy(2)
    assert not result.levelling_down[:2].any()


def test_a_benefit_gap_is_a_recall_gap():
    env = bisimulator.make("lending", population=20, horizon=200)
    by_benefit, by_recall = (frontier(env, name, levels=[0.0, 0.1]) for name in ("benefit-gap", "recall-gap"))
    np.testing.assert_array_equal(by_benefit.value, by_recall.value)
    np.testing.assert_array_equal(by_benefit.stationary_value, by_recall.stationary_value)


def test_everybody_approved_is_accept_all():
    env = bisimulator.make("lending")
    exact = expect(env, np.ones((2, 7)))
    for criterion in ("min-approval", "min-recall"):
        assert frontier(env, criterion, levels=[1.0]).upper_bound[0] == pytest.approx(exact.average_return)


@pytest.mark.parametrize("criterion", some(DEMANDS, ("min-recall", "approval-gap", "return-gap")))
def test_default_levels_run_from_strict_to_unconstrained(criterion):
    env = bisimulator.make("lending", population=10, horizon=50)
    result = frontier(env, criterion)
    assert len(result.levels) == 31
    assert (np.diff(result.levels) > 0).all()
    assert not np.isnan(result.value).any()
    sign = -1 if DEMANDS[criterion](0.5).per_group else 1
    assert (sign * np.diff(result.value) >= -1e-3).all()
    free = frontier(env, levels=[0.0]).value[0]
    assert result.value[-1 if sign > 0 else 0] == pytest.approx(free, rel=1e-6)


@pytest.mark.parametrize("criterion", DEMANDS)
@pytest.mark.parametrize("rows", [1, 3])
def test_derivatives_of_slacks_by_acceptance_probabilities(criterion, rows):
    env = bisimulator.make("lending", groups=3, population=5, horizon=30)
    groups = [StationaryGroup(group) for group in groups_of(person_chain(env))]
    accept, demand = np.random.default_rng(0).uniform(0.1, 0.9, (rows, 7)), DEMANDS[criterion](0.2)

    def slack(accept):
        return slacks(demand, group_moments(groups, accept)[0])[0]

    moments, slope = group_moments(groups, accept)
    by_accept = np.einsum("rgm,gmc->rgc", slacks(demand, moments)[1], slope)
    by_accept = by_accept if rows == 3 else by_accept.sum(1, keepdims=True)
    for place in np.ndindex(accept.shape):
        step = np.zeros(accept.shape)
        step[place] = 1e-6
        numeric = (slack(accept + step) - slack(accept - step)) / 2e-6
        np.testing.assert_allclose(by_accept[:, *place], numeric, atol=1e-6)


@pytest.mark.parametrize(
    ("criterion", "level", "message"),
    [
        (
            "min-approval",
            80,
            r"levels must lie in \[0, 1\] \(approval rates\), got 80; did you pass percentages",
        ),
        ("return-gap", -1, r"levels must not be negative \(reward per person\), got -1"),
        ("credit-gap", -1, r"levels must not be negative \(score points\), got -1"),
    ],
)
def test_levels_out_of_range(criterion, level, message):
    with pytest.raises(ValueError, match=message):
        frontier(bisimulator.make("lending"), criterion, levels=[level])


def test_pairs_that_are_not_compared_at_first_meet_the_level_as_well(monkeypatch):
    """The linear programme begins with few pairs of groups, and the optimum is the one with all of them."""
    env = bisimulator.make("lending", groups=6, population=60, horizon=200)
    few, every = [], []
    for found, all_pairs in ((few, 1), (every, 6)):
        monkeypatch.setattr(criteria, "_ALL_PAIRS", all_pairs)
        solver = criteria.make_criterion(
            DEMANDS["credit-gap"], [ColumnPool(g) for g in groups_of(person_chain(env))]
        )
        found.extend(solver.default_levels())
        for level in np.linspace(*found, 5):
            point = solver.solve(float(level))
            assert criteria.credit_gap(point.moments) <= level + 1e-7
            assert point.upper_bound - point.value <= 1e-7 * point.value
            found.append(point.value)
    np.testing.assert_allclose(few, every, rtol=1e-7)


def test_as_many_groups_as_are_compared_are_accepted():
    assert all(not criteria.why_too_large(kind, 60, 7) for kind in DEMANDS.values())
    assert criteria.why_too_large(DEMANDS["credit-gap"], 20, 22)
