"""What fairness can be asked for on a frontier: each criterion finds the best return at a level of it."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations, permutations

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from bisimulator.exact._column_generation import Columns, Mixture, Rows, best_jointly
from bisimulator.exact._occupancy import ACCEPTED_REPAYERS, FINAL, REPAYERS, RETURN
from bisimulator.exact._stationary import Demand

Array = NDArray[np.float64]

_SEARCHED = 1e-6  # of the value: when the search for the best band of recalls stops


def recalls(moments: Float[Array, "g M"]) -> Float[Array, "g"]:
    """Accepted repayers out of all repayers; NaN for a group in which nobody ever would repay."""
    accepted, all_ = moments[:, ACCEPTED_REPAYERS], moments[:, REPAYERS]
    return np.divide(accepted, all_, out=np.full(len(moments), np.nan), where=all_ > 0)


def credit_gap(moments: Float[Array, "g M"]) -> float:
    """Largest Kantorovich distance between two groups' final scores, in points."""
    cdf = moments[:, FINAL:].cumsum(1)[:, :-1]
    return float(abs(cdf[:, None] - cdf).sum(-1).max())


@dataclasses.dataclass(frozen=True)
class Point:
    """The best at one level: a mixture of policies for each group, and the bound that no policy exceeds."""

    mixtures: Sequence[Mixture]
    value: float
    upper_bound: float

    @property
    def moments(self) -> Float[Array, "G M"]:
        return np.stack([mixture.moments for mixture in self.mixtures])


class Criterion:
    """Base: knows the best without any demand, and each group's best under a demand on its recall."""

    separate = False  # does the demand fall apart into one per group?

    def __init__(self, groups: Sequence[Columns]) -> None:
        self.groups = groups
        self._known: dict[tuple[int, float, float], tuple[Mixture, float, float]] = {}

    def solve(self, level: float) -> Point | None:
        """The best at `level`; None if no policy gets there."""
        raise NotImplementedError

    def demand(self, level: float) -> Demand:
        """The same demand on the moments of a stationary policy."""
        raise NotImplementedError

    def default_levels(self) -> tuple[float, float]:
        """From the strictest level that can be had to the one at which it no longer binds, in ascending order."""
        raise NotImplementedError

    @cached_property
    def free(self) -> Point:
        return self._point([self._limit(g, 0.0, 1.0) for g in range(len(self.groups))])

    @cached_property
    def free_recalls(self) -> Float[Array, "G"]:
        return recalls(self.free.moments)

    def _limit(self, g: int, recall: float, side: float) -> tuple[Mixture, float, float]:
        """Group g's best with side * (its recall - recall) >= 0; bound and price as `Columns.best`."""
        if (g, recall, side) not in self._known:
            self._known[g, recall, side] = self.groups[g].best(self._slack(recall, side))
        return self._known[g, recall, side]

    def _slack(self, recall: float, side: float) -> Float[Array, "M"]:
        """A demand on recall = accepted / all as a linear one: side * (accepted - recall * all) >= 0."""
        slack = np.zeros(self.groups[0].moments.shape[1])
        slack[ACCEPTED_REPAYERS], slack[REPAYERS] = side, -side * recall
        return slack

    def _point(self, found: Sequence[tuple[Mixture, float, float]]) -> Point:
        sizes = np.array([columns.group.size for columns in self.groups])
        value = float(sizes @ [mixture.moments[RETURN] for mixture, _, _ in found])
        bound = float(sizes @ [bound for _, bound, _ in found])
        return Point([mixture for mixture, _, _ in found], value, max(bound, value))


class MinRecall(Criterion):
    """Every group's recall is at least the level (a number, or one a group)."""

    separate = True

    def solve(self, level: float | Float[Array, "G"]) -> Point:
        each = np.broadcast_to(level, len(self.groups))
        return self._point([self._limit(g, float(recall), 1.0) for g, recall in enumerate(each)])

    def demand(self, level: float) -> Demand:
        def room(moments: Float[Array, "g M"]) -> tuple[Array, Array]:
            slack = np.zeros(moments.shape[1])
            slack[ACCEPTED_REPAYERS], slack[REPAYERS] = 1.0, -level
            return moments @ slack, np.eye(len(moments))[:, :, None] * slack

        return room

    def default_levels(self) -> tuple[float, float]:
        return float(np.nanmin(self.free_recalls)), 1.0


class RecallGap(Criterion):
    """The largest and the smallest recall differ by at most the level."""

    def solve(self, level: float) -> Point:
        """Best-first search for the band [rho, rho + level] of recalls, with a bound for intervals of rho.

        Outside [smallest, largest - level] of the free recalls the band would only constrain more, because
        each group's best return is unimodal in its recall (the set of moments is convex).
        """
        low, high = float(np.nanmin(self.free_recalls)), float(np.nanmax(self.free_recalls)) - level
        if high <= low:
            return self.free
        best = self._point(self._band(low, level))
        waiting = [(-np.inf, low, high)]
        while True:
            minus_bound, low, high = heapq.heappop(waiting)
            if -minus_bound - best.value <= _SEARCHED * max(1.0, abs(best.value)) or high - low < 1e-12:
                return dataclasses.replace(best, upper_bound=max(-minus_bound, best.value))
            for a, b in ((low, (low + high) / 2), ((low + high) / 2, high)):
                band = self._band((a + b) / 2, level)
                best = max(best, self._point(band), key=lambda point: point.value)
                heapq.heappush(waiting, (-self._bound(band, a, b, level), a, b))

    def _band(self, rho: float, level: float) -> list[tuple[Mixture, float, float]]:
        """Every group's best with a recall in [rho, rho + level]; only the nearer end can bind."""
        return [
            self._limit(g, rho + level, -1.0) if recall > rho + level else self._limit(g, rho, 1.0)
            for g, recall in enumerate(self.free_recalls)
        ]

    def _bound(self, band: list[tuple[Mixture, float, float]], a: float, b: float, level: float) -> float:
        """At fixed prices the worth of the best columns is convex in rho, so it is largest at an end."""
        middle, worth = (a + b) / 2, np.zeros(2)
        for columns, recall, (_, bound, price) in zip(self.groups, self.free_recalls, band, strict=True):
            upper = recall > middle + level
            for end, rho in enumerate((a, b)):
                slack = self._slack(rho + level, -1.0) if upper else self._slack(rho, 1.0)
                per_person = columns.group.worth(columns.unit + price * slack) if price else bound
                worth[end] += columns.group.size * per_person
        return float(worth.max())

    def demand(self, level: float) -> Demand:
        def rooms(moments: Float[Array, "g M"]) -> tuple[Array, Array]:
            pairs = list(permutations(np.flatnonzero(moments[:, REPAYERS] > 0), 2))
            room, slope = np.empty(len(pairs)), np.zeros((len(pairs), *moments.shape))
            for p, pair in enumerate(pairs):
                for g, sign in zip(pair, (-1.0, 1.0), strict=True):
                    accepted, all_ = moments[g, ACCEPTED_REPAYERS], moments[g, REPAYERS]
                    room[p] = (level if sign < 0 else room[p]) + sign * accepted / all_
                    slope[p, g, ACCEPTED_REPAYERS], slope[p, g, REPAYERS] = (
                        sign / all_,
                        -sign * accepted / all_**2,
                    )
            return room, slope

        return rooms

    def default_levels(self) -> tuple[float, float]:
        return 0.0, float(np.nanmax(self.free_recalls) - np.nanmin(self.free_recalls))


class CreditGap(Criterion):
    """The groups' final scores differ by at most the level, in points (Kantorovich distance, largest pair)."""

    def solve(self, level: float) -> Point | None:
        if level < self.least - 1e-9:
            return None
        most = np.append(self._rows.most[:-1], max(level, self.least))
        mixtures, value, bound = best_jointly(self.groups, dataclasses.replace(self._rows, most=most))
        return Point(mixtures, value, min(bound, max(self.free.value, value)))

    @cached_property
    def least(self) -> float:
        """The smallest gap that any policy reaches."""
        cost = np.append(np.zeros(len(self._rows.most) - 1), 1.0)
        _, value, _ = best_jointly(self.groups, self._rows, cost)
        return max(-value, 0.0)

    @cached_property
    def _rows(self) -> Rows:
        """Helpers: |CDF difference| of every pair and score, then the gap itself, which is at least their sums."""
        size = self.groups[0].moments.shape[1]
        below = np.tri(size - FINAL, dtype=float)[:-1]  # shares up to each score but the last
        pairs = list(combinations(range(len(self.groups)), 2))
        count = len(pairs) * len(below)
        moments = np.zeros((2 * count + len(pairs), len(self.groups), size))
        helper = np.zeros((len(moments), count + 1))
        for p, (g, h) in enumerate(pairs):
            each = slice(p * len(below), (p + 1) * len(below))
            for side, sign in enumerate((1.0, -1.0)):
                rows = slice(each.start + side * count, each.stop + side * count)
                moments[rows, g, FINAL:], moments[rows, h, FINAL:] = sign * below, -sign * below
                helper[rows, each] = np.eye(len(below))
            helper[2 * count + p, each], helper[2 * count + p, -1] = -1.0, 1.0
        return Rows(moments, helper, np.append(np.ones(count), float(len(below))))

    def demand(self, level: float) -> Demand:
        def room(moments: Float[Array, "g M"]) -> tuple[Array, Array]:
            cdf = moments[:, FINAL:].cumsum(1)[:, :-1]
            pairs = list(combinations(range(len(moments)), 2))
            gap = np.array([abs(cdf[g] - cdf[h]).sum() for g, h in pairs])
            slope = np.zeros((len(pairs), *moments.shape))
            for p, (g, h) in enumerate(pairs):
                # d cdf[c] / d share[s] = 1 for s <= c
                push = np.append(np.sign(cdf[g] - cdf[h])[::-1].cumsum()[::-1], 0.0)
                slope[p, g, FINAL:], slope[p, h, FINAL:] = -push, push
            return level - gap, slope

        return room

    def default_levels(self) -> tuple[float, float]:
        return self.least, max(self.least, credit_gap(self.free.moments))


CRITERIA: dict[str, type[Criterion]] = {
    "min-recall": MinRecall,
    "recall-gap": RecallGap,
    "credit-gap": CreditGap,
}
