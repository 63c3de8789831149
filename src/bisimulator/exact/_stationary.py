"""The best policy that looks at score and group only, not at the clock: what an agent without a clock can reach.

A smooth problem in the acceptance probabilities, but not a convex one: it is climbed from several starts with
exact gradients. What comes out is attained, and is compared with the certified bound for any policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.optimize import minimize

from bisimulator.exact._numba import compiled
from bisimulator.exact._occupancy import RETURN, Group, visit_numbers

Array = NDArray[np.float64]
# Demands on the groups' moments (g, M): values that must be >= 0, and their derivatives (R, g, M).
Demand = Callable[[Array], tuple[Array, Array]]

_FEASIBLE = 1e-7


class Stationary:
    """One group's moments under a policy pi(accept | score), with derivatives."""

    def __init__(self, group: Group) -> None:
        self.group = group
        person = group.types[0]
        self._more, self._last = visit_numbers(person.horizon, person.rate)

    def moments(self, accept: Float[Array, "C"]) -> tuple[Float[Array, "M"], Float[Array, "M C"]]:
        each = [
            _moments(accept, p.initial, p.chance, p.gain, p.up, p.down, self._more, self._last)
            for p in self.group.types
        ]
        shares = np.array([p.share for p in self.group.types])
        return shares @ [value for value, _ in each], np.tensordot(shares, [slope for _, slope in each], 1)


def meets(demand: Demand, moments: Float[Array, "g M"]) -> bool:
    return bool(demand(moments)[0].min(initial=np.inf) >= -_FEASIBLE)


def climb(
    groups: Sequence[Stationary], demand: Demand, starts: Sequence[Float[Array, "g C"]]
) -> Float[Array, "g C"] | None:
    """The best acceptance probabilities found that meet the demand; None if no start led to any."""
    best, best_value = None, -np.inf
    for start in starts:
        for candidate in (start, _local(groups, demand, start)):
            moments, _ = _stack(groups, candidate)
            value = sum(g.group.size * m[RETURN] for g, m in zip(groups, moments, strict=True))
            if value > best_value and meets(demand, moments):
                best, best_value = candidate, value
    return best


def _local(groups: Sequence[Stationary], demand: Demand, start: Float[Array, "g C"]) -> Float[Array, "g C"]:
    shape = start.shape
    sizes = np.array([g.group.size for g in groups])
    scale = max(sizes.sum(), 1.0)
    seen: dict[bytes, tuple[Array, Array]] = {}

    def at(x: Array) -> tuple[Array, Array]:
        if x.tobytes() not in seen:
            seen.clear()
            seen[x.tobytes()] = _stack(groups, np.clip(x.reshape(shape), 0, 1))
        return seen[x.tobytes()]

    def loss(x: Array) -> tuple[float, Array]:
        moments, slope = at(x)
        return -float(sizes @ moments[:, RETURN]) / scale, -(
            sizes[:, None] * slope[:, RETURN]
        ).ravel() / scale

    def room_slope(x: Array) -> Array:
        moments, slope = at(x)
        return np.einsum("rgm,gmc->rgc", demand(moments)[1], slope).reshape(-1, x.size)

    constraint = {"type": "ineq", "fun": lambda x: demand(at(x)[0])[0], "jac": room_slope}
    result = minimize(
        loss,
        start.ravel(),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * start.size,
        constraints=[constraint],
        options={"maxiter": 200, "ftol": 1e-12},
    )
    return np.clip(result.x.reshape(shape), 0, 1)


def _stack(groups: Sequence[Stationary], accept: Float[Array, "g C"]) -> tuple[Array, Array]:
    each = [g.moments(a) for g, a in zip(groups, accept, strict=True)]
    return np.stack([m for m, _ in each]), np.stack([j for _, j in each])


@compiled
def _moments(accept, initial, chance, gain, up, down, more, last):  # type: ignore[no-untyped-def]
    """Moments (M,) and their derivatives (M, C), visit by visit: forwards the shares, backwards the values."""
    scores, visits = len(initial), len(more)
    shares = np.empty((visits, scores))
    shares[0] = initial
    for k in range(1, visits):
        shares[k] = shares[k - 1]
        for c in range(scores):
            moved = shares[k - 1, c] * accept[c]
            shares[k, c] -= moved
            shares[k, up[c]] += moved * chance[c]
            shares[k, down[c]] += moved * (1 - chance[c])
    size = 3 + scores
    total, slope = np.zeros(size), np.zeros((size, scores))
    value, earlier = np.zeros((scores, size)), np.zeros((scores, size))
    for k in range(visits - 1, -1, -1):
        for c in range(scores):
            for m in range(size):
                move = chance[c] * value[up[c], m] + (1 - chance[c]) * value[down[c], m] - value[c, m]
                anyway = last[k] if m == 3 + c else 0.0
                if m == 0:
                    move += more[k] * gain[c]
                elif m == 1:
                    anyway = more[k] * chance[c]
                elif m == 2:
                    move += more[k] * chance[c]
                earlier[c, m] = value[c, m] + anyway + accept[c] * move
                slope[m, c] += shares[k, c] * move
        value, earlier = earlier, value
    for c in range(scores):
        total += initial[c] * value[c]
    return total, slope
