"""Dantzig-Wolfe column generation: the best mixture of policies under linear constraints, with a proven upper bound.

A column is one group's deterministic policy, represented by its moments. The dual prices of the constraints define
a pricing problem: which policy maximises return plus priced slack? Dynamic programming solves it exactly, and weak
duality turns its optimum into a bound that no policy exceeds. Columns are kept, so that later problems about the
same environment start from them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import linprog

from bisimulator.core import Values
from bisimulator.exact._occupancy import Group
from bisimulator.goals.moments import M

_ROUNDING = 1e-14  # of the sizes of the numbers that are added
_OPTIMALITY_GAP = 1e-8  # of the largest return of the columns: bound and value are that close
_TIGHT = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
# The simplex method first; for the few programmes on which it gives up, without presolving, then an interior-point
# method. The bound does not depend on the solver's tolerances, so the defaults will do where tight ones fail.
_SOLVERS: tuple[tuple[str, dict[str, float]], ...] = (
    ("highs", _TIGHT),
    ("highs", {**_TIGHT, "presolve": False}),
    ("highs-ipm", {}),
    ("highs", {}),
)


@dataclasses.dataclass(frozen=True)
class Mixture:
    """A mixture of one group's columns."""

    moments: Float[Values, "M"]  # per person
    columns: tuple[int, ...]
    weights: tuple[float, ...]


class GroupOptimum(NamedTuple):
    """One group's best mixture under a constraint, a bound that no policy exceeds, and the constraint's dual price."""

    mixture: Mixture
    upper_bound: float  # return per person
    price: float


class ColumnPool:
    """The columns of one group generated so far: row i of `moments` maximises `_objectives[i]`."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self._objectives: list[Values | bool] = [True, False]  # accept all, reject all
        self.moments = np.stack([group.moments(group.plans(accept)) for accept in (True, False)])
        self.return_weights = np.eye(self.moments.shape[1])[M.REWARD]
        self.generate(self.return_weights)
        self.unconstrained = int(self.moments[:, M.REWARD].argmax())  # the best column without any constraint

    def generate(self, weights: Float[Values, "M"]) -> float:
        """Solve the pricing problem: the largest `weights @ moments` of all policies. A maximiser joins the pool."""
        moments = self.group.moments(self.group.plans(weights))
        values = self.moments @ weights
        value = max(moments @ weights, values.max())
        if value > values.max() + 1e-14 * abs(values).max():
            self._objectives.append(weights)
            self.moments = np.vstack([self.moments, moments])
        return float(value)

    def best_under(self, constraint: Float[Values, "M"]) -> GroupOptimum | None:
        """The largest return per person subject to `constraint @ moments >= 0`; None if no policy satisfies it."""
        best = self.unconstrained
        if self._slacks(constraint)[best] >= 0:
            return GroupOptimum(self.mix([best], [1.0]), float(self.moments[best, M.REWARD]), 0.0)
        if self._slacks(constraint).max() < 0:
            self.generate(constraint)
            if self._slacks(constraint).max() < 0:
                return None
        bound = np.inf
        while True:
            infeasible, feasible, price = self._best_pair(constraint)
            weights = self.return_weights + price * constraint
            value, size = self.moments[infeasible] @ weights, len(self.moments)
            bound = min(bound, self.generate(weights))
            scale = abs(self.moments[:, M.REWARD]).max()
            if bound - value <= _OPTIMALITY_GAP * scale or len(self.moments) == size:
                break
        slacks = self._slacks(constraint)[[infeasible, feasible]]
        weight = slacks[1] / (slacks[1] - slacks[0])
        mixture = self.mix([infeasible, feasible], [weight, 1 - weight])
        return GroupOptimum(mixture, max(bound, value), price)

    def _slacks(self, constraint: Float[Values, "M"]) -> Float[Values, "N"]:
        """`constraint @ moments` of every column; 0 where only rounding keeps it from being so."""
        slacks, size = self.moments @ constraint, abs(self.moments) @ abs(constraint)
        clean: Values = np.where(abs(slacks) <= _ROUNDING * size, 0.0, slacks)
        return clean

    def _best_pair(self, constraint: Float[Values, "M"]) -> tuple[int, int, float]:
        """Two columns whose mixture has slack 0 and the largest return of the pool, and the dual price."""
        returns, slacks = self.moments[:, M.REWARD], self._slacks(constraint)
        infeasible = self.unconstrained
        feasible = int(np.where(slacks >= 0, returns, -np.inf).argmax())
        while True:
            price = (returns[infeasible] - returns[feasible]) / (slacks[feasible] - slacks[infeasible])
            priced = returns + price * slacks
            best = int(priced.argmax())
            if priced[best] <= priced[infeasible] + 1e-14 * abs(priced).max():
                return infeasible, feasible, float(price)
            if slacks[best] >= 0:
                feasible = best
            else:
                infeasible = best

    def mix(self, columns: Sequence[int], weights: Sequence[float]) -> Mixture:
        """The mixture of columns with these weights."""
        return Mixture(np.asarray(weights) @ self.moments[list(columns)], tuple(columns), tuple(weights))

    def policy(self, mixture: Mixture) -> Float[Values, "T C"]:
        """pi_t(accept | score) with the occupancy of the mixture, hence with all its moments."""
        return _share(*self._occupancy(mixture))

    def average_policy(self, mixture: Mixture) -> Float[Values, "C"]:
        """pi(accept | score), the mixture's decisions averaged over time: close to the best stationary policy."""
        accepted, visits = self._occupancy(mixture)
        return _share(accepted.sum(0), visits.sum(0))

    def _occupancy(self, mixture: Mixture) -> tuple[Float[Values, "T C"], Float[Values, "T C"]]:
        """Accepted visits and all visits of a person, by time and score."""
        person = self.group.types[0]
        visits, accepted = np.zeros((2, person.horizon, len(person.initial)))
        for column, weight in zip(mixture.columns, mixture.weights, strict=True):
            for person, plan in zip(
                self.group.types, self.group.plans(self._objectives[column]), strict=True
            ):
                share = weight * person.share * person.visits(plan)
                visits += share
                accepted += share * plan
        return accepted, visits


def _share(accepted: Values, visits: Values) -> Values:
    # a score that is never visited may get any decision
    share: Values = np.divide(accepted, visits, out=np.zeros_like(accepted), where=visits > 0)
    return share


@dataclasses.dataclass(frozen=True)
class LinkingConstraints:
    """Constraints across groups, with H auxiliary variables e.

    Row i: sum_g moments[i, g] @ (moments of group g) + auxiliary[i] @ e >= 0, with 0 <= e <= upper_bounds.
    """

    moments: Float[Values, "R G M"]
    auxiliary: Float[Values, "R H"]
    upper_bounds: Float[Values, "H"]


def gap_constraints(
    pools: Sequence[ColumnPool], pairs: Sequence[tuple[int, int]], level: float = np.inf
) -> LinkingConstraints:
    """No two groups of these pairs have final scores further apart than the level.

    Auxiliary variables: |CDF difference| per pair and score, then the gap, which is at least their sums.
    """
    size = pools[0].moments.shape[1]
    below = np.tri(size - M.FINAL, dtype=float)[:-1]  # shares up to each score but the last
    count = len(pairs) * len(below)
    moments = np.zeros((2 * count + len(pairs), len(pools), size))
    auxiliary = np.zeros((len(moments), count + 1))
    for p, (g, h) in enumerate(pairs):
        each = slice(p * len(below), (p + 1) * len(below))
        for side, sign in enumerate((1.0, -1.0)):
            rows = slice(each.start + side * count, each.stop + side * count)
            moments[rows, g, M.FINAL :], moments[rows, h, M.FINAL :] = sign * below, -sign * below
            auxiliary[rows, each] = np.eye(len(below))
        auxiliary[2 * count + p, each], auxiliary[2 * count + p, -1] = -1.0, 1.0
    return LinkingConstraints(moments, auxiliary, np.append(np.ones(count), min(level, float(len(below)))))


def best_mixtures(
    pools: Sequence[ColumnPool],
    constraints: LinkingConstraints,
    auxiliary_cost: Float[Values, "H"] | None = None,
) -> tuple[list[Mixture], float, float]:
    """The largest total return under the constraints: one mixture per group, value and proven upper bound.

    With `auxiliary_cost` the objective is -(auxiliary_cost @ e) instead of the return. The columns in the pools must
    be able to satisfy the constraints.
    """
    cost = np.zeros(len(constraints.upper_bounds)) if auxiliary_cost is None else auxiliary_cost
    objectives = [
        p.group.size * p.return_weights if auxiliary_cost is None else np.zeros_like(p.return_weights)
        for p in pools
    ]
    bound = np.inf
    while True:
        value, prices, weights = _restricted_master(pools, constraints, objectives, cost)
        priced = np.einsum("r,rgm->gm", prices, constraints.moments)
        sizes = [len(p.moments) for p in pools]
        best = sum(p.generate(o + w) for p, o, w in zip(pools, objectives, priced, strict=True))
        # weak duality: an auxiliary variable sits at its upper bound wherever its reduced cost is positive
        reduced = np.maximum(prices @ constraints.auxiliary - cost, 0)
        bound = min(bound, best + float(constraints.upper_bounds @ reduced))
        if bound - value <= 1e-8 * max(1.0, abs(value)) or sizes == [len(p.moments) for p in pools]:
            used = [np.flatnonzero(w > 1e-12) for w in weights]
            mixtures = [p.mix(list(i), list(w[i])) for p, i, w in zip(pools, used, weights, strict=True)]
            return mixtures, value, max(bound, value)


def _restricted_master(
    pools: Sequence[ColumnPool], constraints: LinkingConstraints, objectives: list[Values], cost: Values
) -> tuple[float, Float[Values, "R"], list[Values]]:
    """The best mixture of the columns in the pools: value, dual price of each row, weights of each group's columns."""
    sizes = [len(p.moments) for p in pools]
    body = np.hstack([constraints.moments[:, i] @ p.moments.T for i, p in enumerate(pools)])
    gain = np.concatenate([p.moments @ weights for p, weights in zip(pools, objectives, strict=True)])
    owner = np.repeat(np.arange(len(pools)), sizes)
    minimised = np.concatenate([-gain, cost])
    # the solver's tolerances are absolute: with costs in the thousands they would be too tight
    unit = max(float(abs(minimised).max()), 1e-300)
    programme = {
        "c": minimised / unit,
        "A_ub": -np.hstack([body, constraints.auxiliary]),
        "b_ub": np.zeros(len(body)),
        "A_eq": np.pad((owner == np.arange(len(pools))[:, None]) * 1.0, ((0, 0), (0, len(cost)))),
        "b_eq": np.ones(len(pools)),
        "bounds": [(0, None)] * len(owner) + [(0, bound) for bound in constraints.upper_bounds],
    }
    for method, options in _SOLVERS:
        result = linprog(**programme, method=method, options=options)
        if result.status == 0:
            break
    else:
        raise RuntimeError(f"the linear programme of the frontier was not solved: {result.message}")
    weights = np.split(result.x[: len(owner)], np.cumsum(sizes)[:-1])
    prices = np.maximum(-unit * result.ineqlin.marginals, 0)
    return -unit * result.fun, prices, [w / w.sum() for w in weights]
