"""The bisimulation metric of a finite process, exact up to a proven error bound.

Howard's algorithm: keep one coupling of next states for every pair of states, solve the linear equation that
the couplings define, improve the couplings under the new distances, and stop when no improvement exceeds the
tolerance. Improving warm-starts a transportation simplex, so it costs little more than a check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int, Shaped
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.linalg import LinearOperator, bicgstab, splu

from bisimulator._html import html_table
from bisimulator.core import Values
from bisimulator.errors import check_bool, check_real, shown
from bisimulator.exact._couplings import Couplings, order_rows, times
from bisimulator.exact._finite import Matrices, Matrix, check_chain, check_discount, check_process
from bisimulator.exact.transport import I32, I64

_MAX_DENSE = 300  # unknowns up to which a dense solve is the fastest
_MAX_FACTORED = 50_000  # unknowns up to which the factors of a sparse solve fit into memory
_MAX_RESTARTS = 10  # of an iterative solve that cannot be replaced by a direct one
_PLAIN_STEPS = 100  # between two of them
_MAX_ITERATIONS = 500  # Howard's algorithm needs about ten


@dataclass(frozen=True, repr=False)
class Bisimulation:
    """Distances between states, and a proven bound on their error."""

    distance: Float[Values, "n1 n2"]  # all pairs, or rows of one group against columns of the other
    error_bound: float  # max |distance - true distance| is at most this, rounding included
    iterations: int
    couplings: PairCouplings | None = None

    @property
    def _facts(self) -> dict[str, str]:
        rows, columns = self.distance.shape
        return {
            "distances": f"{rows} x {columns}",
            "largest": f"{self.distance.max(initial=0):.4g}",
            "error bound": f"{self.error_bound:.1g}",
            "iterations": str(self.iterations),
        }

    def __repr__(self) -> str:
        return f"Bisimulation({', '.join(f'{name}: {value}' for name, value in self._facts.items())})"

    def _repr_html_(self) -> str:
        return html_table("Bisimulation metric", (), self._facts.items())


@dataclass(frozen=True, repr=False)
class PairCouplings:
    """`couplings[x, y]`: the optimal joint distribution of the next states of x and y."""

    _by_action: Sequence[Couplings]
    _pair_of: Int[I32, "n1 n2"]
    _choice: Int[I64, "pairs"]
    _symmetric: bool

    def __repr__(self) -> str:
        rows, columns = self._pair_of.shape
        return f"PairCouplings({rows} x {columns} states; index with [x, y])"

    def __getitem__(self, pair: tuple[int, int]) -> Float[Values, "n1 n2"]:
        x, y = pair
        if self._symmetric and x == y:
            matrix = self._by_action[0].left
            row = slice(matrix[0][x], matrix[0][x + 1])
            plan = np.zeros(self._pair_of.shape)
            plan[matrix[1][row], matrix[1][row]] = matrix[2][row]
            return plan
        p = int(self._pair_of[x, y])
        plan = self._by_action[int(self._choice[p])].plan(p)
        return plan.T if self._symmetric and x > y else plan


def bisimulation_metric(
    transition: Matrix,
    reward: ArrayLike,
    gamma: float,
    groups: ArrayLike | None = None,
    tol: float = 1e-9,
    *,
    between: tuple[object, object] | None = None,
    couplings: bool = False,
) -> Bisimulation:
    """The (group-conditioned) pi-bisimulation metric: the fixed point of eqs. (3) and (5).

    Args:
        transition: the chain's transition matrix (n, n), dense or sparse, with the policy averaged in
            (`policy_average`).
        reward: expected rewards (n,).
        gamma: discount factor in [0, 1).
        groups: one group label per state. Only the block across two groups is then computed: rows are the states
            of the smaller label, columns those of the larger.
        tol: stop as soon as `error_bound` is at most this.
        between: `(row_group, column_group)`, needed with more than two labels.
        couplings: also return the optimal couplings of next states.

    Returns:
        The distances with their proven `error_bound`, which may exceed `tol` if gamma is so close to 1 that double
        precision does not suffice.

    Raises:
        ValueError: if the input is not a Markov chain, or if it leads from one group to another (Assumption 2).

    Example:
        >>> metric = bisimulation_metric([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]], reward=[0, 1, 1], gamma=0.9)
        >>> metric.distance.round(3)  # states 1 and 2 are bisimilar
        array([[0.   , 1.818, 1.818],
               [1.818, 0.   , 0.   ],
               [1.818, 0.   , 0.   ]])
    """
    matrix, rewards = check_chain(transition, reward)
    gamma = check_discount(gamma)
    if groups is None:
        if between is not None:
            raise ValueError(f"between={shown(between)} needs groups; pass one group label per state")
        return _howard([matrix], [matrix], rewards[None], rewards[None], gamma, tol, True, couplings)
    first, second = _two_groups(matrix, _labels(groups), between)
    return _howard(
        [matrix[first][:, first]],
        [matrix[second][:, second]],
        rewards[None, first],
        rewards[None, second],
        gamma,
        tol,
        False,
        couplings,
    )


def all_actions_metric(
    transition: Matrices, reward: ArrayLike, gamma: float, tol: float = 1e-9, *, couplings: bool = False
) -> Bisimulation:
    """The bisimulation metric over all actions, eq. (1): the largest difference that any action makes.

    Args:
        transition: probabilities (A, n, n), or a list of A sparse (n, n) matrices.
        reward: expected rewards (A, n).
        gamma: discount factor in [0, 1).
        tol: stop as soon as `error_bound` is at most this.
        couplings: also return the optimal couplings of next states.

    Returns:
        The distances with their proven `error_bound`.

    Example:
        >>> stay, swap = np.eye(2), np.eye(2)[::-1]
        >>> all_actions_metric([stay, swap], reward=[[0, 1], [0, 0]], gamma=0.5).distance.round(6)
        array([[0., 2.],
               [2., 0.]])
    """
    matrices, rewards = check_process(transition, reward)
    return _howard(matrices, matrices, rewards, rewards, check_discount(gamma), tol, True, couplings)


def _howard(
    left: list[sp.csr_array],
    right: list[sp.csr_array],
    reward_left: Float[Values, "A n1"],
    reward_right: Float[Values, "A n2"],
    gamma: float,
    tol: float,
    symmetric: bool,
    with_couplings: bool,
) -> Bisimulation:
    """Policy iteration over couplings; with several actions, alternating with the choice of the worst action."""
    tol = check_real("tol", tol, min=0)
    check_bool("couplings", with_couplings)
    shape = (reward_left.shape[1], reward_right.shape[1])
    x, y = np.triu_indices(shape[0], 1) if symmetric else np.indices(shape).reshape(2, -1)
    pair_of = np.full(shape, len(x), np.int32)  # pairs x = y share the last number, an unknown that is 0
    pair_of[x, y] = np.arange(len(x))
    if symmetric:
        pair_of[y, x] = pair_of[x, y]

    left, right = _sorted_by_value(left, reward_left, gamma), _sorted_by_value(right, reward_right, gamma)
    stores = [Couplings(m, k, x, y) for m, k in zip(left, right, strict=True)]
    cost = abs(reward_left[:, x] - reward_right[:, y])  # |R(x) - R(y)|
    choice = cost.argmax(0)  # the action that makes the largest difference
    pairs = np.arange(len(x))
    rounding = np.finfo(float).eps * (4 + sum(max(np.diff(m.indptr), default=0) for m in (left[0], right[0])))

    d = np.zeros(len(x) + 1)
    d[:-1] = _evaluate(stores, choice, cost[choice, pairs], gamma, pair_of, d)[:-1]
    best, best_bound, idle = d, np.inf, 0
    iteration = 0
    while iteration < _MAX_ITERATIONS:
        iteration += 1
        improved = [store.improve(d[pair_of]) for store in stores]
        q = cost + gamma * np.stack([w for w, _ in improved])  # F(d) = max over actions, eq. (1)
        target = q.max(0)
        residual = abs(target - d[:-1]).max(initial=0)
        slack = gamma * max(v for _, v in improved) + rounding * target.max(initial=0)
        bound = (residual + slack) / (1 - gamma)  # F is a gamma-contraction
        idle = 0 if bound < 0.9 * best_bound else idle + 1
        if bound < best_bound:
            best, best_bound = d, bound
        if bound <= tol or residual <= slack or idle > 8:
            break
        if abs(q[choice, pairs] - d[:-1]).max(initial=0) <= 0.1 * residual:
            choice = q.argmax(0)  # these couplings are optimal: let the other player move (Hoffman and Karp)
        d = _evaluate(stores, choice, cost[choice, pairs], gamma, pair_of, d)
    result = PairCouplings(stores, pair_of, choice, symmetric) if with_couplings else None
    return Bisimulation(best[pair_of], float(best_bound), iteration, result)


def _evaluate(
    stores: list[Couplings],
    choice: Int[I64, "pairs"],
    cost: Float[Values, "pairs"],
    gamma: float,
    pair_of: Int[I32, "n1 n2"],
    guess: Float[Values, "unknowns"],
) -> Float[Values, "unknowns"]:
    """Distances under fixed couplings: (I - gamma Omega) d = c."""
    unknowns = len(guess)
    c = np.append(cost, 0.0)
    omega = stores[0].matrix(pair_of, unknowns)
    if len(stores) > 1:
        masks = (sp.diags_array(np.append(choice == a, 0.0)) for a in range(len(stores)))
        omega = sum(
            (mask @ store.matrix(pair_of, unknowns) for mask, store in zip(masks, stores, strict=True)),
            sp.csr_array((unknowns, unknowns)),
        )
    if unknowns <= _MAX_DENSE:
        solution: Values = np.linalg.solve(np.eye(unknowns) - gamma * omega.toarray(), c)
        return solution
    return _refine(omega, gamma, c, guess)


def _refine(
    omega: sp.csr_array, gamma: float, c: Float[Values, "unknowns"], d: Float[Values, "unknowns"]
) -> Float[Values, "unknowns"]:
    """Solve for the correction of d, only as precisely as the current couplings need; later iterations refine it."""

    def apply(vector: Float[Values, "unknowns"]) -> Float[Values, "unknowns"]:
        moved: Values = vector - gamma * times(omega, vector)
        return moved

    residual = c - apply(d)
    enough = 1e-2 * abs(residual).max()
    for _ in range(_MAX_RESTARTS):
        # not as a matrix: that would be a second copy of all couplings
        correction, _ = bicgstab(LinearOperator(omega.shape, apply), residual, rtol=1e-6, maxiter=200)
        remaining = residual - apply(correction)
        if abs(remaining).max() < abs(residual).max():
            d, residual = d + correction, remaining
        if abs(residual).max() <= enough:
            break
        if len(c) <= _MAX_FACTORED:
            return np.asarray(splu((sp.eye_array(len(c)) - gamma * omega).tocsc()).solve(c))
        for _ in range(_PLAIN_STEPS):  # value iteration, which always comes nearer
            d, residual = d + residual, gamma * times(omega, residual)
    return d


def _sorted_by_value(
    matrices: list[sp.csr_array], rewards: Float[Values, "A n"], gamma: float
) -> list[sp.csr_array]:
    """Rows in the order of an approximate value function, so that the first couplings pair similar next states."""
    value = np.zeros(rewards.shape[1])
    for _ in range(100):
        value = np.mean([r + gamma * (m @ value) for m, r in zip(matrices, rewards, strict=True)], axis=0)
    return [order_rows(matrix, value) for matrix in matrices]


def _labels(groups: ArrayLike) -> Shaped[NDArray[np.generic], "n"]:
    """Labels of groups that can be told apart."""
    try:
        labels = np.asarray(groups)
        np.unique(labels)
    except (TypeError, ValueError):
        raise ValueError(f"groups must be one label per state, got {shown(groups)}; pass [0, 0, 1]") from None
    return labels


def _two_groups(
    matrix: sp.csr_array, groups: Shaped[NDArray[np.generic], "n"], between: tuple[object, object] | None
) -> tuple[Int[I64, "n1"], Int[I64, "n2"]]:
    """The states of the two groups, after checking that nobody changes group (Assumption 2)."""
    if groups.shape != (matrix.shape[0],):
        raise ValueError(f"groups must have one label per state, {matrix.shape[0]}, got shape {groups.shape}")
    labels = np.unique(groups).tolist()
    if between is None:
        if len(labels) != 2:
            raise ValueError(f"groups has {len(labels)} labels, {shown(labels)}; pass between=(g, h)")
        between = (labels[0], labels[1])
    if not isinstance(between, Sequence) or len(between) != 2 or not all(g in labels for g in between):
        raise ValueError(f"between must name two of {shown(labels)}, got {shown(between)}; pass (g, h)")
    entries = matrix.tocoo()
    if (groups[entries.coords[0]] != groups[entries.coords[1]]).any():
        raise ValueError("transition leads from one group to another; nobody may change group (Assumption 2)")
    return np.flatnonzero(groups == between[0]), np.flatnonzero(groups == between[1])
