"""Demands compared with plain definitions, and their pressures with numerical derivatives."""

from itertools import combinations, permutations

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bisimulator.goals import DEMANDS, Moments

M, SCORES = Moments(), 5
GAPS = ["recall-gap", "approval-gap", "return-gap", "benefit-gap", "credit-gap"]
MIN = ["min-recall", "min-approval", "min-return"]
STEP = 1e-6
# what a demand is about, by hand: accepted repayers out of repayers, and so on
RATES = {
    "recall": (M.APPROVED_QUALIFIED, M.QUALIFIED),
    "benefit": (M.APPROVED_QUALIFIED, M.QUALIFIED),
    "approval": (M.APPROVED, M.APPLIED),
    "return": (M.REWARD, M.PEOPLE),
}


@st.composite
def situations(draw, names=tuple(DEMANDS), missing=False):
    """A demand and random moments of 1 to 5 groups; `missing`: of some groups nothing is known."""
    name = draw(st.sampled_from(names))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    groups = draw(st.integers(1, 5))
    moments = random_moments(rng, groups)
    if missing:
        moments[rng.random(groups) < 0.4] = 0
    level = draw(st.floats(0, 1)) * (3.0 if name in ("credit-gap", "return-gap") else 1.0)
    demand = DEMANDS[name](level, raise_only=name in GAPS and draw(st.booleans()))
    return demand, moments, rng


def random_moments(rng, groups):
    applied = rng.uniform(5, 500, groups)
    approved, qualified = applied * rng.random(groups), applied * rng.uniform(0.1, 1, groups)
    moments = np.zeros((groups, M.FINAL + SCORES))
    moments[:, M.REWARD] = approved * rng.uniform(-1, 1, groups)
    moments[:, M.PEOPLE], moments[:, M.APPLIED], moments[:, M.APPROVED] = applied / 10, applied, approved
    moments[:, M.QUALIFIED], moments[:, M.APPROVED_QUALIFIED] = qualified, qualified * rng.random(groups)
    moments[:, M.ENDED] = applied / rng.uniform(8, 12, groups)
    moments[:, M.FINAL :] = moments[:, M.ENDED, None] * rng.dirichlet(np.ones(SCORES), groups)
    return moments


def measured(demand, moments, xp=np):
    return demand.rates(moments, xp), moments[:, demand.denominator] > 0


def worst(demand, moments):
    """By how much the demand is missed or exceeded, from its definition; None if nothing is demanded."""
    if demand.name == "credit-gap":
        people = [row[M.FINAL :] / row[M.ENDED] for row in moments if row[M.ENDED] > 0]
        distances = [kantorovich(a, b) for a, b in combinations(people, 2)]
        return demand.level - max(distances) if distances else None
    kind, _, what = demand.name.partition("-")
    numerator, denominator = RATES[what if kind == "min" else kind]
    rates = [row[numerator] / row[denominator] for row in moments if row[denominator] > 0]
    if kind == "min":
        return min(rates) - demand.level if rates else None
    return demand.level - max(a - b for a, b in permutations(rates, 2)) if len(rates) > 1 else None


def kantorovich(a, b):
    """How far mass has to be carried to turn one distribution into the other."""
    carried = total = 0.0
    for p, q in zip(a, b, strict=True):
        carried += p - q
        total += abs(carried)
    return total


@pytest.mark.parametrize("name", DEMANDS)
def test_every_demand_is_covered_here(name):
    assert name in {*GAPS, *MIN}
    assert DEMANDS[name].name == name
    assert DEMANDS[name](0.5).per_group == (name in MIN)


@given(situations(missing=True))
def test_slack_is_not_negative_if_and_only_if_the_demand_holds(situation):
    demand, moments, _ = situation
    rates, known = measured(demand, moments)
    slack, expected = demand.slack(rates, known, np), worst(demand, moments)
    assert slack.shape == (demand.num_demands(len(moments)),)
    assert np.isfinite(slack).all()
    if expected is None:
        assert (slack >= 0).all()
        return
    assume(abs(expected) > 1e-9)
    assert (slack >= 0).all() == (expected >= 0)
    if expected < 0:
        assert slack.min() == pytest.approx(expected, abs=1e-9)


@given(situations(missing=True))
def test_what_is_reached_is_the_level_that_is_met_exactly(situation):
    demand, moments, _ = situation
    expected = worst(demand, moments)
    assume(expected is not None)
    reached = demand.reached(*measured(demand, moments), np)
    sign = 1 if demand.per_group else -1
    assert reached == pytest.approx(demand.level + sign * expected, abs=1e-9)


@given(situations())
def test_pressure_is_the_derivative_of_the_slacks(situation):
    demand, moments, rng = situation
    rates, known = measured(demand, moments)
    demand = type(demand)(demand.level)  # raise-only leaves out a part of the derivative
    multipliers = rng.uniform(0, 3, demand.num_demands(len(rates)))
    # slacks have kinks where two distribution functions meet
    cdf = rates.cumsum(1)[:, :-1]
    if demand.name == "credit-gap" and len(rates) > 1:
        assume(min(abs(a - b).min() for a, b in combinations(cdf, 2)) > 10 * STEP)
    expected = np.zeros(rates.shape)
    for place in np.ndindex(rates.shape):
        step = np.zeros(rates.shape)
        step[place] = STEP
        up, down = (demand.slack(rates + sign * step, known, np) @ multipliers for sign in (1, -1))
        expected[place] = (up - down) / (2 * STEP)
    np.testing.assert_allclose(demand.pressure(multipliers, rates, np), expected, atol=1e-6)


@given(situations())
def test_pressure_is_the_sum_of_multipliers_times_derivatives(situation):
    demand, moments, rng = situation
    demand, rates = type(demand)(demand.level), measured(demand, moments)[0]
    derivative, applies = demand.derivative(rates, np), demand.applies(len(rates), np)
    multipliers = rng.uniform(0, 3, demand.num_demands(len(rates)))
    expected = np.einsum("d,dgr->gr", multipliers, derivative)
    np.testing.assert_allclose(demand.pressure(multipliers, rates, np), expected, atol=1e-9)
    assert not derivative[~applies].any()
    assert (demand.slack(rates, np.ones(len(rates), bool), np)[~applies] == demand.level).all()


@settings(max_examples=20)  # each of other shapes, which are compiled
@given(situations(missing=True))
def test_numpy_and_jax_give_the_same(situation):
    demand, moments, rng = situation
    multipliers = rng.uniform(0, 3, demand.num_demands(len(moments)))
    in_jax = jnp.asarray(moments, jnp.float32)
    (rates, known), (jax_rates, jax_known) = measured(demand, moments), measured(demand, in_jax, jnp)
    np.testing.assert_allclose(rates, jax_rates, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(known, jax_known)
    slack = demand.slack(jax_rates, jax_known, jnp)
    np.testing.assert_allclose(demand.slack(rates, known, np), slack, rtol=1e-4, atol=1e-5)
    if known.any():
        reached = demand.reached(jax_rates, jax_known, jnp)
        np.testing.assert_allclose(demand.reached(rates, known, np), reached, rtol=1e-4, atol=1e-5)
    pressure = demand.pressure(jnp.asarray(multipliers, jnp.float32), jax_rates, jnp)
    assert pressure.shape == rates.shape
    # the same rates, because a pressure jumps where two distribution functions meet
    expected = demand.pressure(multipliers, np.asarray(jax_rates), np)
    if demand.name != "credit-gap" or not has_ties(np.asarray(jax_rates)):
        np.testing.assert_allclose(pressure, expected, rtol=1e-4, atol=1e-5)


def has_ties(rates):
    cdf = rates.cumsum(1)[:, :-1]
    return any(abs(a - b).min() < 1e-6 for a, b in combinations(cdf, 2))


@given(situations(names=GAPS))
def test_raise_only_never_lowers_a_group(situation):
    demand, moments, rng = situation
    demand = type(demand)(demand.level, raise_only=True)
    rates, _ = measured(demand, moments)
    multipliers = rng.uniform(0, 3, demand.num_demands(len(rates)))
    pressure = demand.pressure(multipliers, rates, np)
    if demand.name == "credit-gap":  # a share at a higher score is never worth less than one at a lower score
        assert (np.diff(pressure, axis=1) >= -1e-12).all()
    else:
        assert (pressure >= 0).all()


@pytest.mark.parametrize("name", GAPS)
def test_raise_only_still_raises_the_worse_off_group(name):
    demand, moments = DEMANDS[name](0.0, raise_only=True), random_moments(np.random.default_rng(0), 2)
    moments[:, : M.FINAL] = [
        [20, 10, 100, 80, 60, 55, 10],
        [5, 10, 100, 30, 60, 20, 10],
    ]
    moments[:, M.FINAL :] = [[0, 1, 1, 3, 5], [5, 3, 1, 1, 0]]
    rates, known = measured(demand, moments)
    multipliers = np.maximum(0, -demand.slack(rates, known, np))
    better, worse = demand.pressure(multipliers, rates, np)
    assert np.ptp(np.append(better, 0)) == 0
    assert np.ptp(np.append(worse, 0)) > 0
    both = type(demand)(0.0).pressure(multipliers, rates, np)
    np.testing.assert_allclose(both[1], worse)
    np.testing.assert_allclose(both[0], -both[1])


@pytest.mark.parametrize("name", DEMANDS)
def test_groups_without_a_denominator_demand_nothing(name):
    demand, moments = DEMANDS[name](0.3), random_moments(np.random.default_rng(1), 3)
    alone, without = moments[:2].copy(), moments.copy()
    without[2] = 0
    rates, known = measured(demand, without)
    assert known.tolist() == [True, True, False]
    assert (rates[2] == 0).all()
    slack, pair = demand.slack(rates, known, np), demand.slack(*measured(demand, alone), np)
    if demand.per_group:
        np.testing.assert_allclose(slack[:2], pair)
        assert slack[2] >= 0
    else:
        slack = slack.reshape(3, 3)
        np.testing.assert_allclose(slack[:2, :2], pair.reshape(2, 2))
        assert (slack[2] >= 0).all()
        assert (slack[:, 2] >= 0).all()
    assert demand.reached(rates, known, np) == demand.reached(*measured(demand, alone), np)


@pytest.mark.parametrize("name", DEMANDS)
def test_rates_do_not_depend_on_how_many_decisions_are_counted(name):
    demand, moments = DEMANDS[name](0.3), random_moments(np.random.default_rng(2), 3)
    np.testing.assert_allclose(demand.rates(moments, np), demand.rates(moments / 1000, np))


@pytest.mark.parametrize("name", GAPS)
def test_one_group_alone_meets_every_gap(name):
    demand, moments = DEMANDS[name](0.0), random_moments(np.random.default_rng(3), 1)
    rates, known = measured(demand, moments)
    assert demand.slack(rates, known, np).tolist() == [0]
    assert demand.reached(rates, known, np) == 0
