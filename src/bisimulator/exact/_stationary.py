"""The best policy that looks at score and group only, not at the time: what an agent without a clock can reach.

The problem is smooth in the acceptance probabilities, but not convex. It is solved by local search from several
starts with exact gradients. The result is attained, and is compared with the proven bound for any policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from bisimulator.core import Values
from bisimulator.exact._numba import compiled
from bisimulator.exact._occupancy import RETURN, Group, visit_distribution
from bisimulator.exact.transport import I64

# A demand on the groups' moments (g, M): slacks (R,), which must be >= 0, and their derivatives (R, g, M).
Demand: TypeAlias = Callable[[Values], tuple[Values, Values]]

_FEASIBILITY_TOLERANCE = 1e-7


class StationaryGroup:
    """One group's moments under a policy pi(accept | score), with derivatives."""

    def __init__(self, group: Group) -> None:
        self.group = group
        person = group.types[0]
        self._tail, self._pmf = visit_distribution(person.horizon, person.visit_rate)

    def moments(self, accept: Float[Values, "C"]) -> tuple[Float[Values, "M"], Float[Values, "M C"]]:
        """The moments per person, and their derivatives with respect to `accept`."""
        each = [
            _moments(accept, p.initial, p.repayment, p.accept_reward, p.up, p.down, self._tail, self._pmf)
            for p in self.group.types
        ]
        shares = np.array([p.share for p in self.group.types])
        return shares @ [value for value, _ in each], np.tensordot(shares, [slope for _, slope in each], 1)


def satisfies(demand: Demand, moments: Float[Values, "g M"]) -> bool:
    """Whether moments meet the demand, up to a small tolerance."""
    return bool(demand(moments)[0].min(initial=np.inf) >= -_FEASIBILITY_TOLERANCE)


def local_search(
    groups: Sequence[StationaryGroup], demand: Demand, starts: Sequence[Float[Values, "g C"]]
) -> Float[Values, "g C"] | None:
    """The best acceptance probabilities found that satisfy the demand; None if no start led to any."""
    best, best_value = None, -np.inf
    for start in starts:
        for candidate in (start, _slsqp(groups, demand, start)):
            moments, _ = _stack(groups, candidate)
            value = sum(g.group.size * m[RETURN] for g, m in zip(groups, moments, strict=True))
            if value > best_value and satisfies(demand, moments):
                best, best_value = candidate, value
    return best


def _slsqp(
    groups: Sequence[StationaryGroup], demand: Demand, start: Float[Values, "g C"]
) -> Float[Values, "g C"]:
    """A local optimum near `start`, by sequential quadratic programming."""
    shape = start.shape
    sizes = np.array([g.group.size for g in groups])
    scale = max(sizes.sum(), 1.0)
    last: dict[bytes, tuple[Values, Values]] = {}  # SLSQP asks for loss and constraint at the same point

    def at(x: Values) -> tuple[Values, Values]:
        if x.tobytes() not in last:
            last.clear()
            last[x.tobytes()] = _stack(groups, np.clip(x.reshape(shape), 0, 1))
        return last[x.tobytes()]

    def loss(x: Values) -> tuple[float, Values]:
        moments, slope = at(x)
        gradient = (sizes[:, None] * slope[:, RETURN]).ravel() / scale
        return -float(sizes @ moments[:, RETURN]) / scale, -gradient

    def slack_gradient(x: Values) -> Values:
        moments, slope = at(x)
        gradient: Values = np.einsum("rgm,gmc->rgc", demand(moments)[1], slope).reshape(-1, x.size)
        return gradient

    constraint = {"type": "ineq", "fun": lambda x: demand(at(x)[0])[0], "jac": slack_gradient}
    result = minimize(
        loss,
        start.ravel(),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * start.size,
        constraints=[constraint],
        options={"maxiter": 200, "ftol": 1e-12},
    )
    accept: Values = np.clip(result.x.reshape(shape), 0, 1)
    return accept


def _stack(groups: Sequence[StationaryGroup], accept: Float[Values, "g C"]) -> tuple[Values, Values]:
    each = [g.moments(a) for g, a in zip(groups, accept, strict=True)]
    return np.stack([m for m, _ in each]), np.stack([j for _, j in each])


@compiled
def _moments(
    accept: Values,
    initial: Values,
    repayment: Values,
    accept_reward: Values,
    up: I64,
    down: I64,
    tail: Values,
    pmf: Values,
) -> tuple[Values, Values]:
    """Moments (M,) and their derivatives (M, C), visit by visit: shares forwards, values backwards."""
    scores, visits = len(initial), len(tail)
    shares = np.empty((visits, scores))
    shares[0] = initial
    for k in range(1, visits):
        shares[k] = shares[k - 1]
        for c in range(scores):
            moved = shares[k - 1, c] * accept[c]
            shares[k, c] -= moved
            shares[k, up[c]] += moved * repayment[c]
            shares[k, down[c]] += moved * (1 - repayment[c])
    size = 3 + scores
    total, slope = np.zeros(size), np.zeros((size, scores))
    value, earlier = np.zeros((scores, size)), np.zeros((scores, size))
    for k in range(visits - 1, -1, -1):
        for c in range(scores):
            for m in range(size):
                move = repayment[c] * value[up[c], m] + (1 - repayment[c]) * value[down[c], m] - value[c, m]
                always = pmf[k] if m == 3 + c else 0.0  # whether accepted or not
                if m == 0:
                    move += tail[k] * accept_reward[c]
                elif m == 1:
                    always = tail[k] * repayment[c]
                elif m == 2:
                    move += tail[k] * repayment[c]
                earlier[c, m] = value[c, m] + always + accept[c] * move
                slope[m, c] += shares[k, c] * move
        value, earlier = earlier, value
    for c in range(scores):
        total += initial[c] * value[c]
    return total, slope
