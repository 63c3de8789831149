"""The bisimulation metric of a finite process, exact up to an error bound that comes with the answer.

Howard's algorithm: keep one coupling of next states for every pair of states, solve the linear equation that
the couplings give, improve the couplings under the new distances, and stop when nothing more than the
tolerance can be gained. Improving warm-starts a transportation simplex, so it costs little more than a check.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.sparse.linalg import bicgstab, splu

from bisimulator.errors import check_real
from bisimulator.exact._couplings import Couplings, order_rows
from bisimulator.exact._finite import check_chain, check_discount, check_process

Array = NDArray[np.float64]

_DENSE = 300  # unknowns up to which a dense solve is the fastest
_PATIENCE = 500  # outer iterations; Howard needs about ten


@dataclass(frozen=True)
class Bisimulation:
    """Distances between states, and how far from the true ones they can be."""

    distance: Float[Array, "n1 n2"]  # all pairs, or rows of one group against columns of the other
    error_bound: float  # max |distance - true distance| is at most this, proven, rounding included
    iterations: int
    couplings: "PairCouplings | None" = None


@dataclass(frozen=True)
class PairCouplings:
    """`couplings[x, y]`: the optimal joint distribution of the next states of x and y."""

    _by_action: Sequence[Couplings]
    _pair_of: Int[NDArray, "n1 n2"]
    _choice: Int[NDArray, "pairs"]
    _symmetric: bool

    def __getitem__(self, pair: tuple[int, int]) -> Float[Array, "n1 n2"]:
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
    transition: Any,
    reward: Any,
    gamma: float,
    groups: Any = None,
    tol: float = 1e-9,
    *,
    between: tuple[Any, Any] | None = None,
    couplings: bool = False,
) -> Bisimulation:
    """The (group-conditioned) pi-bisimulation metric: the fixed point of eqs. (3) and (5).

    `transition` (n, n), dense or sparse, and `reward` (n,) have the policy averaged in (`policy_average`).
    With `groups` (one label per state) only the block across two groups is computed: rows are the states of the
    smaller label, columns those of the larger. More than two labels need `between=(row_group, column_group)`.
    """
    matrix, rewards = check_chain(transition, reward)
    gamma = check_discount(gamma)
    if groups is None:
        if between is not None:
            raise ValueError(f"between={between!r} needs groups; pass one group label per state")
        return _howard([matrix], [matrix], rewards[None], rewards[None], gamma, tol, True, couplings)
    first, second = _two_groups(matrix, np.asarray(groups), between)
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
    transition: Any, reward: Any, gamma: float, tol: float = 1e-9, *, couplings: bool = False
) -> Bisimulation:
    """The bisimulation metric over all actions, eq. (1): transition (A, n, n), reward (A, n)."""
    matrices, rewards = check_process(transition, reward)
    return _howard(matrices, matrices, rewards, rewards, check_discount(gamma), tol, True, couplings)


def _howard(
    left: list[sp.csr_array],
    right: list[sp.csr_array],
    reward_left: Float[Array, "A n1"],
    reward_right: Float[Array, "A n2"],
    gamma: float,
    tol: float,
    symmetric: bool,
    keep: bool,
) -> Bisimulation:
    """Policy iteration over couplings; with several actions, in turns with the choice of the worst action."""
    tol = check_real("tol", tol, min=0)
    shape = (reward_left.shape[1], reward_right.shape[1])
    x, y = np.triu_indices(shape[0], 1) if symmetric else np.indices(shape).reshape(2, -1)
    pair_of = np.full(shape, len(x), np.int32)  # x = y keeps the last number, an unknown that is 0
    pair_of[x, y] = np.arange(len(x))
    if symmetric:
        pair_of[y, x] = pair_of[x, y]

    left, right = _sorted_by_value(left, reward_left, gamma), _sorted_by_value(right, reward_right, gamma)
    stores = [Couplings(m, k, x, y) for m, k in zip(left, right, strict=True)]
    cost = abs(reward_left[:, x] - reward_right[:, y])  # |R(x) - R(y)|
    choice = cost.argmax(0)
    one = np.arange(len(x))
    rounding = np.finfo(float).eps * (4 + sum(max(np.diff(m.indptr), default=0) for m in (left[0], right[0])))

    d = np.zeros(len(x) + 1)
    d[:-1] = _evaluate(stores, choice, cost[choice, one], gamma, pair_of, d)[:-1]
    best, best_bound, idle = d, np.inf, 0
    iteration = 0
    while iteration < _PATIENCE:
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
        if abs(q[choice, one] - d[:-1]).max(initial=0) <= 0.1 * residual:
            choice = q.argmax(0)  # these couplings are done: let the other player move (Hoffman and Karp)
        d = _evaluate(stores, choice, cost[choice, one], gamma, pair_of, d)
    result = PairCouplings(stores, pair_of, choice, symmetric) if keep else None
    return Bisimulation(best[pair_of], float(best_bound), iteration, result)


def _evaluate(
    stores: list[Couplings],
    choice: Int[NDArray, "pairs"],
    cost: Float[Array, "pairs"],
    gamma: float,
    pair_of: Int[NDArray, "n1 n2"],
    guess: Float[Array, "unknowns"],
) -> Float[Array, "unknowns"]:
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
    if unknowns <= _DENSE:
        return np.linalg.solve(np.eye(unknowns) - gamma * omega.toarray(), c)
    return _refine((sp.eye_array(unknowns) - gamma * omega).tocsr(), c, guess)


def _refine(
    system: sp.csr_array, c: Float[Array, "unknowns"], d: Float[Array, "unknowns"]
) -> Float[Array, "unknowns"]:
    """Solve for the correction of d: far enough for this round's couplings, the next rounds do the rest."""
    residual = c - system @ d
    correction, _ = bicgstab(system, residual, rtol=1e-6, maxiter=200)
    left = abs(residual - system @ correction).max()
    if left <= 1e-2 * abs(residual).max():
        return d + correction
    return splu(system.tocsc()).solve(c)  # slow but sure


def _sorted_by_value(
    matrices: list[sp.csr_array], rewards: Float[Array, "A n"], gamma: float
) -> list[sp.csr_array]:
    """Rows in the order of a rough value function: good partners then stand at like places in both rows."""
    value = np.zeros(rewards.shape[1])
    for _ in range(100):
        value = np.mean([r + gamma * (m @ value) for m, r in zip(matrices, rewards, strict=True)], axis=0)
    return [order_rows(matrix, value) for matrix in matrices]


def _two_groups(
    matrix: sp.csr_array, groups: NDArray[Any], between: tuple[Any, Any] | None
) -> tuple[Int[NDArray, "n1"], Int[NDArray, "n2"]]:
    """The states of the two groups, after checking that nobody changes group (Assumption 2)."""
    if groups.shape != (matrix.shape[0],):
        raise ValueError(f"groups must hold one label per state, {matrix.shape[0]}, got shape {groups.shape}")
    labels = np.unique(groups)
    if between is None:
        if len(labels) != 2:
            raise ValueError(f"groups holds {len(labels)} labels, {labels.tolist()}; pass between=(g, h)")
        between = (labels[0], labels[1])
    for label in between:
        if label not in labels:
            raise ValueError(f"between names {label!r}, groups holds {labels.tolist()}; name two of these")
    entries = matrix.tocoo()
    if (groups[entries.coords[0]] != groups[entries.coords[1]]).any():
        raise ValueError(
            "transition leads from one group to another; groups must stay constant (Assumption 2)"
        )
    return np.flatnonzero(groups == between[0]), np.flatnonzero(groups == between[1])
