"""Dantzig-Wolfe columns: the best mixture of policies under linear constraints, with a certified upper bound.

A column is one group's deterministic policy, known by its moments. Prices on the constraints ask for the column
that is worth most at these prices (dynamic programming); weak duality turns its worth into a bound on what any
policy can reach. Columns are kept, so later questions about the same environment start from them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.optimize import linprog

from bisimulator.exact._occupancy import RETURN, Group

Array = NDArray[np.float64]

_CLOSED = 1e-8  # of the largest return at hand: bound and value are that close
_TIGHT = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
# the simplex method first, then, for the few programmes that it gives up, without presolving and from the inside;
# the bound does not rest on the solver's tolerances, so its defaults will do where tight ones fail
_SOLVERS: tuple[tuple[str, dict[str, float]], ...] = (
    ("highs", _TIGHT),
    ("highs", {**_TIGHT, "presolve": False}),
    ("highs-ipm", {}),
    ("highs", {}),
)


@dataclasses.dataclass(frozen=True)
class Mixture:
    """A mixture of one group's columns."""

    moments: Float[Array, "M"]  # per person
    columns: tuple[int, ...]
    weights: tuple[float, ...]


class Columns:
    """The columns of one group found so far: row i of `moments` came from `_wishes[i]`."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self._wishes: list[Array | bool] = [True, False]
        self.moments = np.stack([group.moments(group.plans(wish)) for wish in (True, False)])
        self.unit = np.eye(self.moments.shape[1])[RETURN]
        self.ask(self.unit)
        self.free = int(self.moments[:, RETURN].argmax())  # the best without any constraint

    def ask(self, wish: Float[Array, "M"]) -> float:
        """The largest `wish @ moments` of all policies; a policy that attains it is at hand from then on."""
        moments = self.group.moments(self.group.plans(wish))
        at_hand = self.moments @ wish
        worth = max(moments @ wish, at_hand.max())
        if worth > at_hand.max() + 1e-14 * abs(at_hand).max():
            self._wishes.append(wish)
            self.moments = np.vstack([self.moments, moments])
        return float(worth)

    def best(self, slack: Float[Array, "M"]) -> tuple[Mixture, float, float]:
        """The largest return per person with slack @ moments >= 0, a bound that no policy exceeds, and the price.

        Accepting or rejecting everybody must satisfy the constraint, as it does for any demand on recall.
        """
        if self.moments[self.free] @ slack >= 0:
            return self.mix([self.free], [1.0]), float(self.moments[self.free, RETURN]), 0.0
        bound = np.inf
        while True:
            over, under, price = self._cross(slack)
            wish = self.unit + price * slack
            value, before = self.moments[over] @ wish, len(self.moments)
            bound = min(bound, self.ask(wish))
            if bound - value <= _CLOSED * abs(self.moments[:, RETURN]).max() or len(self.moments) == before:
                break
        rooms = self.moments[[over, under]] @ slack
        weight = rooms[1] / (rooms[1] - rooms[0])
        return self.mix([over, under], [weight, 1 - weight]), max(bound, value), price

    def _cross(self, slack: Float[Array, "M"]) -> tuple[int, int, float]:
        """Two columns at hand whose mixture just satisfies the constraint and returns most, and its price."""
        gain, room = self.moments[:, RETURN], self.moments @ slack
        over, under = self.free, int(np.where(room >= 0, gain, -np.inf).argmax())
        while True:
            price = (gain[over] - gain[under]) / (room[under] - room[over])
            worth = gain + price * room
            best = int(worth.argmax())
            if worth[best] <= worth[over] + 1e-14 * abs(worth).max():
                return over, under, float(price)
            if room[best] >= 0:
                under = best
            else:
                over = best

    def mix(self, columns: Sequence[int], weights: Sequence[float]) -> Mixture:
        return Mixture(np.asarray(weights) @ self.moments[list(columns)], tuple(columns), tuple(weights))

    def policy(self, mixture: Mixture) -> Float[Array, "T C"]:
        """pi_t(accept | score) with the occupancy of the mixture, hence with all its moments."""
        accepted, visits = self._occupancy(mixture)
        # where nobody ever is, any decision will do
        return np.divide(accepted, visits, out=np.zeros_like(accepted), where=visits > 0)

    def average(self, mixture: Mixture) -> Float[Array, "C"]:
        """pi(accept | score), the mixture's decisions averaged over time: near the best that has no clock."""
        accepted, visits = (each.sum(0) for each in self._occupancy(mixture))
        return np.divide(accepted, visits, out=np.zeros_like(accepted), where=visits > 0)

    def _occupancy(self, mixture: Mixture) -> tuple[Float[Array, "T C"], Float[Array, "T C"]]:
        """Accepted and all visits of a person at each time and score."""
        person = self.group.types[0]
        visits, accepted = np.zeros((2, person.horizon, len(person.initial)))
        for column, weight in zip(mixture.columns, mixture.weights, strict=True):
            for person, plan in zip(self.group.types, self.group.plans(self._wishes[column]), strict=True):
                share = weight * person.share * person.visits(plan)
                visits += share
                accepted += share * plan
        return accepted, visits


@dataclasses.dataclass(frozen=True)
class Rows:
    """Constraints across groups: sum_g moments[i, g] @ moments of g + helper[i] @ e >= 0, 0 <= e <= most."""

    moments: Float[Array, "R G M"]
    helper: Float[Array, "R H"]
    most: Float[Array, "H"]


def best_jointly(
    groups: Sequence[Columns], rows: Rows, cost: Float[Array, "H"] | None = None
) -> tuple[list[Mixture], float, float]:
    """The largest total return under the rows, or with `cost` the smallest -(cost @ e): mixtures, value, bound.

    The columns at hand must be able to satisfy the rows.
    """
    penalty = np.zeros(len(rows.most)) if cost is None else cost
    units = [np.zeros_like(g.unit) if cost is not None else g.group.size * g.unit for g in groups]
    bound = np.inf
    while True:
        value, prices, weights = _master(groups, rows, units, penalty)
        wishes = [u + w for u, w in zip(units, np.einsum("r,rgm->gm", prices, rows.moments), strict=True)]
        before = [len(g.moments) for g in groups]
        worth = sum(g.ask(wish) for g, wish in zip(groups, wishes, strict=True))
        # weak duality: helpers take all they may where their price pays for them
        bound = min(bound, worth + float(rows.most @ np.maximum(prices @ rows.helper - penalty, 0)))
        if bound - value <= 1e-8 * max(1.0, abs(value)) or before == [len(g.moments) for g in groups]:
            used = [np.flatnonzero(w > 1e-12) for w in weights]
            mixtures = [g.mix(list(i), list(w[i])) for g, i, w in zip(groups, used, weights, strict=True)]
            return mixtures, value, max(bound, value)


def _master(
    groups: Sequence[Columns], rows: Rows, units: list[Array], penalty: Array
) -> tuple[float, Float[Array, "R"], list[Array]]:
    """The best mixture of the columns at hand: value, price of each row, weights of each group's columns."""
    sizes = [len(g.moments) for g in groups]
    body = np.hstack([rows.moments[:, i] @ g.moments.T for i, g in enumerate(groups)])
    gain = np.concatenate([g.moments @ unit for g, unit in zip(groups, units, strict=True)])
    owner = np.repeat(np.arange(len(groups)), sizes)
    cost = np.concatenate([-gain, penalty])
    unit = max(
        float(abs(cost).max()), 1e-300
    )  # tolerances are absolute: thousands of them would be too tight
    programme = {
        "c": cost / unit,
        "A_ub": -np.hstack([body, rows.helper]),
        "b_ub": np.zeros(len(body)),
        "A_eq": np.pad((owner == np.arange(len(groups))[:, None]) * 1.0, ((0, 0), (0, len(penalty)))),
        "b_eq": np.ones(len(groups)),
        "bounds": [(0, None)] * len(owner) + [(0, most) for most in rows.most],
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
