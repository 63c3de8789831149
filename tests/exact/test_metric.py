"""The metric against value iteration with POT, and the paper's theorems as properties."""

import numpy as np
import ot
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bisimulator.exact._finite import policy_average
from bisimulator.exact.metric import all_actions_metric, bisimulation_metric
from bisimulator.exact.transport import optimal_transport
from tests.exact.chains import KINDS, birth_death, chains, random_chain, two_groups, value_iteration

discounts = st.sampled_from([0.0, 0.3, 0.9, 0.99])
quick = settings(max_examples=60, deadline=None)


def values(P, R, gamma):
    return np.linalg.solve(np.eye(len(R)) - gamma * P, R)


def operator(d, P, R, gamma):
    """F of eq. (3), with POT."""
    n = len(R)
    w = [[ot.emd2(P[x], P[y], d) for y in range(n)] for x in range(n)]
    return abs(R[:, None] - R) + gamma * np.array(w)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_value_iteration(kind, seed):
    P, R = KINDS[kind](6, np.random.default_rng(seed))
    result = bisimulation_metric(P, R, 0.8)
    np.testing.assert_allclose(result.distance, value_iteration(P, R, 0.8), atol=1e-10)
    assert result.error_bound <= 1e-9


@given(chains(), discounts)
@quick
def test_fixed_point_of_the_operator(chain, gamma):
    """Theorem 1: below 1 the operator is a contraction, so its fixed point is the least one."""
    P, R = chain
    d = bisimulation_metric(P, R, gamma).distance
    np.testing.assert_allclose(operator(d, P, R, gamma), d, atol=1e-11)


@given(chains(), st.sampled_from([0.5, 0.8]), st.integers(1, 6))
@quick
def test_least_fixed_point(chain, gamma, steps):
    """Theorem 1: iterates from 0 stay below the metric and come within gamma^k of it."""
    P, R = chain
    d, iterate = bisimulation_metric(P, R, gamma).distance, np.zeros((len(R), len(R)))
    for _ in range(steps):
        iterate = operator(iterate, P, R, gamma)
    assert (iterate <= d + 1e-9).all()
    assert (d - iterate).max() <= gamma**steps * d.max() + 1e-9


@given(chains(min=3), discounts)
@quick
def test_pseudometric(chain, gamma):
    P, R = chain
    d = bisimulation_metric(P, R, gamma).distance
    assert (d >= 0).all()
    assert (np.diag(d) == 0).all()
    np.testing.assert_array_equal(d, d.T)
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-9).all()


@given(chains(), discounts)
@quick
def test_values_differ_by_at_most_the_distance(chain, gamma):
    """Theorem 2, eq. (6)."""
    P, R = chain
    v, d = values(P, R, gamma), bisimulation_metric(P, R, gamma).distance
    assert (abs(v[:, None] - v) <= d + 1e-9).all()


@given(chains(), chains(), st.sampled_from([0.5, 0.99]), st.integers(0, 2**32))
@quick
def test_demographic_parity_bound(first, second, gamma, seed):
    """Theorem 3: |J_1 - J_2| <= E[d] for any coupling of the groups' initial distributions; W1 is the best."""
    P, R, groups = two_groups(first, second)
    d = bisimulation_metric(P, R, gamma, groups=groups).distance
    rng = np.random.default_rng(seed)
    mu, nu = (rng.dirichlet(np.ones(len(chain[1]))) for chain in (first, second))
    gap = abs(mu @ values(*first, gamma) - nu @ values(*second, gamma))
    best, plan = optimal_transport(d, mu, nu)
    assert gap <= best + 1e-9
    assert best <= mu @ d @ nu + 1e-12  # the independent coupling
    assert best == pytest.approx((plan * d).sum())


@given(chains(), chains(), discounts)
@quick
def test_cross_group_block_is_a_block_of_the_whole(first, second, gamma):
    P, R, groups = two_groups(first, second)
    n = len(first[1])
    block = bisimulation_metric(P, R, gamma, groups=groups).distance
    np.testing.assert_allclose(block, bisimulation_metric(P, R, gamma).distance[:n, n:], atol=1e-8)


@given(chains(), st.sampled_from([1.0, 1e-1, 1e-3]))
@quick
def test_error_bound_holds_also_when_it_is_loose(chain, tol):
    P, R = chain
    rough = bisimulation_metric(P, R, 0.9, tol=tol)
    fine = bisimulation_metric(P, R, 0.9, tol=1e-11)
    assert rough.error_bound <= tol
    assert abs(rough.distance - fine.distance).max() <= rough.error_bound + fine.error_bound


@pytest.mark.parametrize("gamma", [0.5, 0.95])
def test_error_bound_against_long_value_iteration(gamma):
    P, R = random_chain(5, np.random.default_rng(7))
    truth = value_iteration(P, R, gamma, tol=1e-13)
    for tol in (1e-1, 1e-4, 1e-9):
        result = bisimulation_metric(P, R, gamma, tol=tol)
        assert abs(result.distance - truth).max() <= result.error_bound + 1e-12
        assert result.error_bound <= tol


@pytest.mark.parametrize("make", [random_chain, birth_death])
def test_iterative_and_dense_solvers_agree(make, monkeypatch):
    P, R = make(30, np.random.default_rng(1))
    sparse = bisimulation_metric(P, R, 0.99)
    monkeypatch.setattr("bisimulator.exact.metric._MAX_DENSE", 10_000)
    dense = bisimulation_metric(P, R, 0.99)
    assert abs(sparse.distance - dense.distance).max() <= sparse.error_bound + dense.error_bound


def test_direct_solver_when_the_iterative_one_fails(monkeypatch):
    monkeypatch.setattr("bisimulator.exact.metric.bicgstab", lambda system, b, **_: (np.zeros_like(b), 1))
    P, R = birth_death(30, np.random.default_rng(1))
    assert bisimulation_metric(P, R, 0.99).error_bound <= 1e-9


def test_plain_iteration_where_both_other_solvers_fail(monkeypatch):
    """Factors of a very large system do not fit into memory."""
    P, R = birth_death(30, np.random.default_rng(1))
    expected = bisimulation_metric(P, R, 0.95)
    monkeypatch.setattr("bisimulator.exact.metric.bicgstab", lambda system, b, **_: (np.zeros_like(b), 1))
    monkeypatch.setattr("bisimulator.exact.metric._MAX_FACTORED", 0)
    monkeypatch.setattr("bisimulator.exact.metric.splu", None)
    found = bisimulation_metric(P, R, 0.95)
    assert found.error_bound <= 1e-9
    assert abs(found.distance - expected.distance).max() <= found.error_bound + expected.error_bound


def test_closed_forms():
    """Absorbing states: |R| / (1 - gamma). A gamma of 0: rewards only. One state: nothing to compare."""
    R = np.array([0.0, 1.0, 3.0])
    d = bisimulation_metric(np.eye(3), R, 0.75).distance
    np.testing.assert_allclose(d, 4 * abs(R[:, None] - R), atol=1e-9)
    P, R = random_chain(5, np.random.default_rng(0))
    np.testing.assert_array_equal(bisimulation_metric(P, R, 0).distance, abs(R[:, None] - R))
    np.testing.assert_array_equal(bisimulation_metric([[1.0]], [5.0], 0.9).distance, [[0.0]])


def test_too_much_precision_is_answered_honestly():
    """Near gamma = 1 double precision cannot reach 1e-12; the bound says how far it got."""
    R = np.arange(4.0)
    result = bisimulation_metric(np.eye(4), R, 1 - 1e-6, tol=1e-12)
    assert 1e-12 < result.error_bound < 1
    assert abs(result.distance - abs(R[:, None] - R) * 1e6).max() <= result.error_bound


def test_sparse_input_and_couplings():
    rng = np.random.default_rng(4)
    P, R = random_chain(9, rng)
    result = bisimulation_metric(sp.coo_array(P), R, 0.9, couplings=True)
    np.testing.assert_allclose(result.distance, bisimulation_metric(P, R, 0.9).distance, atol=1e-10)
    for x in range(9):
        for y in range(9):
            plan = result.couplings[x, y]
            np.testing.assert_allclose(plan.sum(1), P[x], atol=1e-13)
            np.testing.assert_allclose(plan.sum(0), P[y], atol=1e-13)
            assert abs(R[x] - R[y]) + 0.9 * (plan * result.distance).sum() == pytest.approx(
                result.distance[x, y]
            )
    assert bisimulation_metric(P, R, 0.9).couplings is None


@given(chains(min=3, max=5), st.integers(1, 3), st.integers(0, 2**32))
@quick
def test_all_actions_metric(chain, actions, seed):
    """Eq. (1): a fixed point of the maximum over actions, above every policy's own metric."""
    rng, n = np.random.default_rng(seed), len(chain[1])
    P = np.stack([chain[0]] + [random_chain(n, rng)[0] for _ in range(actions - 1)])
    R = np.stack([chain[1]] + [rng.integers(0, 3, n).astype(float) for _ in range(actions - 1)])
    result = all_actions_metric(P, R, 0.8, couplings=True)
    d = result.distance
    assert result.error_bound <= 1e-9
    operated = np.max([operator(d, p, r, 0.8) for p, r in zip(P, R, strict=True)], axis=0)
    np.testing.assert_allclose(operated, d, atol=1e-10)
    for p, r in zip(P, R, strict=True):
        assert (bisimulation_metric(p, r, 0.8).distance <= d + 1e-8).all()
    if actions == 1:
        np.testing.assert_allclose(d, bisimulation_metric(P[0], R[0], 0.8).distance, atol=1e-9)


def test_policy_average():
    rng = np.random.default_rng(5)
    P = np.stack([random_chain(4, rng)[0] for _ in range(3)])
    R, policy = rng.random((3, 4)), rng.dirichlet(np.ones(3), 4)
    matrix, reward = policy_average(P, R, policy)
    np.testing.assert_allclose(matrix, np.einsum("sa,ast->st", policy, P))
    np.testing.assert_allclose(reward, np.einsum("sa,as->s", policy, R))
    sparse, _ = policy_average([sp.csr_array(p) for p in P], R, policy)
    np.testing.assert_allclose(sparse.toarray(), matrix)


GOOD = (np.eye(2), np.zeros(2))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((*GOOD, 1.0), {}, r"gamma must lie in \[0, 1\)"),
        ((*GOOD, -0.1), {}, r"gamma must lie in \[0, 1\)"),
        ((*GOOD, np.nan), {}, "gamma must be finite"),
        (([[0.5, 0.4], [0, 1]], [0, 0], 0.9), {}, "row 0 sums to 0.9"),
        (([[np.nan, 1], [0, 1]], [0, 0], 0.9), {}, "transition must be finite"),
        (([[2, -1], [0, 1]], [0, 0], 0.9), {}, "must not be negative"),
        ((np.ones((2, 3)) / 3, [0, 0], 0.9), {}, "must be square"),
        ((np.eye(2), [0, np.inf], 0.9), {}, "reward must be finite"),
        ((np.eye(2), [0, 1, 2], 0.9), {}, "reward must have shape"),
        ((*GOOD, 0.9), {"tol": -1}, "tol must lie in"),
        ((*GOOD, 0.9), {"groups": [1]}, "one label per state"),
        ((*GOOD, 0.9), {"groups": [1, 1]}, "pass between"),
        ((*GOOD, 0.9), {"groups": [1, 2], "between": (1, 3)}, "must name two of"),
        ((*GOOD, 0.9), {"between": (1, 2)}, "needs groups"),
        (([[0.5, 0.5], [0, 1]], [0, 0], 0.9), {"groups": [1, 2]}, "from one group to another"),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        bisimulation_metric(*arguments, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: all_actions_metric([], [], 0.9), "no actions"),
        (lambda: all_actions_metric([np.eye(2), np.eye(3)], np.zeros((2, 2)), 0.9), "same states"),
        (lambda: all_actions_metric([np.eye(2)], np.zeros((2, 2)), 0.9), "reward must have shape"),
        (lambda: policy_average([np.eye(2)], np.zeros((1, 2)), [[0.5], [1]]), "policy must sum to 1"),
        (lambda: policy_average([np.eye(2)], np.zeros((1, 2)), [[1, 0], [1, 0]]), "policy must have shape"),
    ],
)
def test_bad_process(call, message):
    with pytest.raises(ValueError, match=message):
        call()
