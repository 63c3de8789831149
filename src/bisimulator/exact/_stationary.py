"""The best policy that does not look at the time, by score and group or by score alone: what agents can reach.

The problem is smooth in the acceptance probabilities, but not convex. It is solved by local search from several
starts with exact gradients. The result is attained, and is compared with the proven bound for any policy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from bisimulator.core import Values
from bisimulator.exact._moves import gain_of_loan, gain_of_rejection, move_by_loan, move_by_rejection
from bisimulator.exact._numba import compiled
from bisimulator.exact._occupancy import Group
from bisimulator.exact.transport import I64
from bisimulator.exact.visits import visit_distribution
from bisimulator.goals import Demand
from bisimulator.goals.moments import M

_FEASIBILITY_TOLERANCE = 1e-7


class StationaryGroup:
    """One group's moments under a policy pi(accept | score), with derivatives."""

    def __init__(self, group: Group) -> None:
        self.group = group
        person = group.types[0]
        self._tail, self._pmf = visit_distribution(person.horizon, person.visit_rate)
        self._gains = self.gains(np.eye(M.FINAL + self.num_scores))

    @property
    def num_scores(self) -> int:
        return len(self.group.types[0].initial)

    def gains(self, weights: Float[Values, "k M"]) -> list[tuple[Values, Values, Values]]:
        """`PersonType.gains` of every type."""
        return [person.gains(weights) for person in self.group.types]

    def moments(self, accept: Float[Values, "C"]) -> tuple[Float[Values, "M"], Float[Values, "M C"]]:
        """The moments per person, and their derivatives with respect to `accept`."""
        return self.weighted(accept, self._gains)

    def weighted(
        self, accept: Float[Values, "C"], gains: Sequence[tuple[Values, Values, Values]]
    ) -> tuple[Float[Values, "k"], Float[Values, "k C"]]:
        """Some weighted sums of the moments, of which `gains` are the `PersonType.gains`, and their derivatives."""
        total: Values = np.zeros(len(gains[0][0]))
        slope: Values = np.zeros(gains[0][0].shape)
        for person, (by_loan, by_rejection, final) in zip(self.group.types, gains, strict=True):
            each, by_accept = _weighted(
                accept, person.initial, by_loan, by_rejection, final, *person.moves, self._tail, self._pmf
            )
            total, slope = total + person.share * each, slope + person.share * by_accept
        return total, slope


def satisfies(demand: Demand, moments: Float[Values, "g M"]) -> bool:
    """Whether moments meet the demand, up to a small tolerance."""
    known = moments[:, demand.denominator] > 0
    slack = demand.slack(demand.rates(moments, np), known, np)
    return bool(slack.min(initial=np.inf) >= -_FEASIBILITY_TOLERANCE)


def slacks(
    demand: Demand, moments: Float[Values, "g M"]
) -> tuple[Float[Values, "R"], Float[Values, "R g M"]]:
    """The slacks of a demand on the groups' moments, which must not be negative, and their derivatives."""
    rates, whole = demand.rates(moments, np), moments[:, demand.denominator]
    known, rows = whole > 0, demand.applies(len(moments), np)
    slack, by_rate = demand.slack(rates, known, np)[rows], demand.derivative(rates, np)[rows]
    by_rate[np.any(by_rate.any(2) & ~known, axis=1)] = 0.0  # nothing is demanded of a group without a rate
    by_part = by_rate / np.where(known, whole, 1.0)[:, None]
    slope = by_part @ demand.parts(np.eye(moments.shape[1])).T
    slope[..., demand.denominator] -= (by_part * rates).sum(-1)
    return slack, slope


def local_search(
    groups: Sequence[StationaryGroup], demand: Demand, starts: Sequence[Float[Values, "r C"]]
) -> Float[Values, "r C"] | None:
    """The best acceptance probabilities found that satisfy the demand; None if no start led to any.

    Starts have one row per group, or a single one that holds for all groups.
    """
    best, best_value = None, -np.inf
    for start in starts:
        for candidate in (start, _slsqp(groups, demand, start)):
            moments, _ = group_moments(groups, candidate)
            value = total_return(groups, moments)
            if value > best_value and satisfies(demand, moments):
                best, best_value = candidate, value
    return best


def total_return(groups: Sequence[StationaryGroup], moments: Float[Values, "g M"]) -> float:
    """The return of an episode."""
    return float(np.array([g.group.size for g in groups]) @ moments[:, M.REWARD])


def _slsqp(
    groups: Sequence[StationaryGroup], demand: Demand, start: Float[Values, "r C"]
) -> Float[Values, "r C"]:
    """A local optimum near `start`, by sequential quadratic programming."""
    shape = start.shape
    sizes = np.array([g.group.size for g in groups])
    scale = max(sizes.sum(), 1.0)
    last: dict[bytes, tuple[Values, Values]] = {}  # SLSQP asks for loss and constraint at the same point

    def at(x: Values) -> tuple[Values, Values]:
        if x.tobytes() not in last:
            last.clear()
            last[x.tobytes()] = group_moments(groups, np.clip(x.reshape(shape), 0, 1))
        return last[x.tobytes()]

    def by_parameter(by_accept: Float[Values, "... g C"]) -> Float[Values, "... n"]:
        rows = by_accept if len(groups) == shape[0] else by_accept.sum(-2, keepdims=True)
        return rows.reshape(*rows.shape[:-2], -1)

    def loss(x: Values) -> tuple[float, Values]:
        moments, slope = at(x)
        gradient = by_parameter(sizes[:, None] * slope[:, M.REWARD]) / scale
        return -float(sizes @ moments[:, M.REWARD]) / scale, -gradient

    def slack_gradient(x: Values) -> Values:
        moments, slope = at(x)
        return by_parameter(np.einsum("rgm,gmc->rgc", slacks(demand, moments)[1], slope))

    constraint = {"type": "ineq", "fun": lambda x: slacks(demand, at(x)[0])[0], "jac": slack_gradient}
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


def group_moments(
    groups: Sequence[StationaryGroup], accept: Float[Values, "r C"]
) -> tuple[Float[Values, "g M"], Float[Values, "g M C"]]:
    """All groups' moments and their derivatives; `accept` has one row per group, or one for all of them."""
    rows = np.broadcast_to(accept, (len(groups), accept.shape[1]))
    each = [g.moments(row) for g, row in zip(groups, rows, strict=True)]
    return np.stack([m for m, _ in each]), np.stack([j for _, j in each])


@compiled
def _weighted(
    accept: Values,
    initial: Values,
    gain_accept: Float[Values, "k C"],
    gain_reject: Float[Values, "k C"],
    final: Float[Values, "k C"],
    repayment: Values,
    up: I64,
    down: I64,
    loans: Values | None,
    rejections: Values | None,
    tail: Values,
    pmf: Values,
) -> tuple[Values, Values]:
    """Weighted sums of what is counted, and their derivatives, visit by visit: shares forwards, values backwards."""
    scores, visits, count = len(initial), len(tail), len(final)
    shares = np.empty((visits, scores))
    shares[0] = initial
    for k in range(1, visits):
        shares[k] = shares[k - 1]
        for c in range(scores):
            lent = shares[k - 1, c] * accept[c]
            move_by_loan(shares[k], lent, c, repayment, up, down, loans)
            move_by_rejection(shares[k], shares[k - 1, c] - lent, c, rejections)
    total, slope = np.zeros(count), np.zeros((count, scores))
    value, earlier = np.zeros((count, scores)), np.zeros((count, scores))
    for k in range(visits - 1, -1, -1):
        for m in range(count):
            for c in range(scores):
                loan = gain_of_loan(value[m], c, repayment, up, down, loans) + tail[k] * gain_accept[m, c]
                rejection = gain_of_rejection(value[m], c, rejections) + tail[k] * gain_reject[m, c]
                move = loan - rejection
                earlier[m, c] = value[m, c] + pmf[k] * final[m, c] + rejection + accept[c] * move
                slope[m, c] += shares[k, c] * move
        value, earlier = earlier, value
    for m in range(count):
        for c in range(scores):
            total[m] += initial[c] * value[m, c]
    return total, slope
