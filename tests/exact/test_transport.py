"""The transportation simplex against POT, on easy, degenerate and one-sided problems."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bisimulator.exact import transport
from bisimulator.exact._couplings import Couplings
from bisimulator.exact._finite import check_chain
from bisimulator.exact.transport import optimal_transport
from tests.exact.chains import KINDS


@st.composite
def problems(draw):
    m, k = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    a = np.ones(m) / m if draw(st.booleans()) else rng.dirichlet(np.full(m, 0.5))
    b = np.ones(k) / k if draw(st.booleans()) else rng.dirichlet(np.full(k, 0.5))
    cost = rng.integers(0, 3, (m, k)).astype(float) if draw(st.booleans()) else rng.random((m, k))
    return cost, a, b


@given(problems())
@settings(max_examples=200, deadline=None)
def test_agrees_with_pot(problem):
    cost, a, b = problem
    value, plan = optimal_transport(cost, a, b)
    assert value == pytest.approx(ot.emd2(a, b, cost), abs=1e-12)
    assert value == pytest.approx((plan * cost).sum(), abs=1e-14)
    np.testing.assert_allclose(plan.sum(1), a, atol=1e-14)
    np.testing.assert_allclose(plan.sum(0), b, atol=1e-14)
    assert plan.min() >= 0


def test_large_problem_with_block_pricing():
    rng = np.random.default_rng(0)
    a, b, cost = rng.dirichlet(np.ones(80)), rng.dirichlet(np.ones(60)), rng.random((80, 60))
    assert optimal_transport(cost, a, b)[0] == pytest.approx(ot.emd2(a, b, cost), abs=1e-12)


def test_assignment_is_solved_through_all_its_ties():
    """Equal masses make every basis degenerate: the classic case in which a simplex can cycle."""
    rng = np.random.default_rng(1)
    for n in (2, 5, 12, 20):
        cost = rng.integers(0, 2, (n, n)).astype(float)
        mass = np.ones(n) / n
        assert optimal_transport(cost, mass, mass)[0] == pytest.approx(ot.emd2(mass, mass, cost), abs=1e-12)


def test_known_answers():
    assert optimal_transport([[0, 1], [1, 0]], [0.5, 0.5], [0.3, 0.7])[0] == pytest.approx(0.2)
    assert optimal_transport([[3.0]], [1.0], [1.0])[0] == 3
    value, plan = optimal_transport([[5, 1], [7, 2]], [1, 0], [0.25, 0.75])
    assert value == pytest.approx(2)
    np.testing.assert_array_equal(plan, [[0.25, 0.75], [0, 0]])


@pytest.mark.parametrize("kind", KINDS)
def test_warm_start_follows_changing_costs(kind):
    """Couplings kept over many changes of the costs stay couplings and stay optimal."""
    rng = np.random.default_rng(2)
    P, _ = KINDS[kind](8, rng)
    matrix, _ = check_chain(P, np.zeros(8))
    x, y = np.triu_indices(8, 1)
    store = Couplings(matrix, matrix, x, y)
    for _ in range(20):
        distance = rng.random((8, 8)) * 10.0 ** rng.integers(-3, 4)
        value, violation = store.improve(distance)
        expected = [ot.emd2(P[i], P[j], distance) for i, j in zip(x, y, strict=True)]
        np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-13 * distance.max())
        assert violation <= 1e-14 * distance.max()
    for p, (i, j) in enumerate(zip(x, y, strict=True)):
        plan = store.plan(p)
        np.testing.assert_allclose(plan.sum(1), P[i], atol=1e-13)
        np.testing.assert_allclose(plan.sum(0), P[j], atol=1e-13)


def test_violation_bounds_the_error_of_any_basis():
    """Even a plan that was not improved knows how far from optimal it can be."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        a, b, cost = rng.dirichlet(np.ones(5)), rng.dirichlet(np.ones(4)), rng.random((5, 4))
        row, col, flow = np.empty(8, np.int32), np.empty(8, np.int32), np.empty(8)
        transport.north_west(a, b, row, col, flow)
        work = transport.workspace(5, 4)
        transport._root_tree(cost, 5, 4, row, col, work)
        _, _, worst = transport._entering(cost, 5, 4, work[5], 1e-12, 0, 20)
        value, best = (flow * cost[row, col]).sum(), ot.emd2(a, b, cost)
        assert value + worst <= best + 1e-12
        assert value >= best - 1e-12


@pytest.mark.parametrize(
    ("cost", "a", "b", "message"),
    [
        ([[1, 2]], [1], [0.4, 0.4], "target must sum to 1"),
        ([[1, 2]], [1], [1.0], "cost must have shape"),
        ([[1, np.nan]], [1], [0.5, 0.5], "cost must be finite"),
        ([[1, 2]], [1], [-0.5, 1.5], "target must not be negative"),
    ],
)
def test_bad_input(cost, a, b, message):
    with pytest.raises(ValueError, match=message):
        optimal_transport(cost, a, b)
