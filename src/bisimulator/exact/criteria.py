"""Fairness criteria of a frontier: each finds the best attainable return at a level of fairness."""

from __future__ import annotations

import abc
import dataclasses
import heapq
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations, permutations
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bisimulator.core import Values
from bisimulator.exact._column_generation import (
    ColumnPool,
    GroupOptimum,
    LinkingConstraints,
    Mixture,
    best_mixtures,
)
from bisimulator.exact._occupancy import ACCEPTED_REPAYERS, FINAL, REPAYERS, RETURN
from bisimulator.exact._stationary import Demand

_SEARCH_TOLERANCE = 1e-6  # of the value: when the search for the best interval of recalls stops


def recalls(moments: Float[Values, "g M"]) -> Float[Values, "g"]:
    """Accepted repayers out of all repayers; NaN for a group in which nobody would ever repay."""
    accepted, total = moments[:, ACCEPTED_REPAYERS], moments[:, REPAYERS]
    ratio: Values = np.divide(accepted, total, out=np.full(len(moments), np.nan), where=total > 0)
    return ratio


def credit_gap(moments: Float[Values, "g M"]) -> float:
    """The largest Kantorovich distance between two groups' final scores, in points."""
    cdf = moments[:, FINAL:].cumsum(1)[:, :-1]
    return float(abs(cdf[:, None] - cdf).sum(-1).max())


@dataclasses.dataclass(frozen=True)
class Point:
    """The best at one level: a mixture of policies per group, its return, and a bound that no policy exceeds."""

    mixtures: Sequence[Mixture]
    value: float
    upper_bound: float

    @property
    def moments(self) -> Float[Values, "G M"]:
        """Per person, one row per group."""
        return np.stack([mixture.moments for mixture in self.mixtures])


class Criterion(abc.ABC):
    """What every criterion shares: the unconstrained optimum, and each group's best under a demand on its recall."""

    separable: ClassVar[bool] = False  # one demand per group, so that a level may be one number per group
    level_meaning: ClassVar[str] = "recalls"
    max_level: ClassVar[float] = 1.0

    def __init__(self, pools: Sequence[ColumnPool]) -> None:
        self.pools = pools
        self._optima: dict[tuple[int, float, float], GroupOptimum] = {}

    @abc.abstractmethod
    def solve(self, level: float | Float[Values, "G"]) -> Point | None:
        """The best at `level`, or at one level per group if `separable`; None if no policy reaches it."""

    @abc.abstractmethod
    def demand(self, level: float) -> Demand:
        """The same demand on the moments of stationary policies."""

    @abc.abstractmethod
    def default_levels(self) -> tuple[float, float]:
        """The strictest level that can be reached and the one at which it stops binding, in ascending order."""

    @cached_property
    def unconstrained(self) -> Point:
        """The best without any demand."""
        return self._point([self._group_optimum(g, 0.0, 1.0) for g in range(len(self.pools))])

    @cached_property
    def unconstrained_recalls(self) -> Float[Values, "G"]:
        """The recalls of the best policy without any demand."""
        return recalls(self.unconstrained.moments)

    def _group_optimum(self, g: int, recall: float, sign: float) -> GroupOptimum:
        """Group g's best subject to sign * (its recall - recall) >= 0."""
        if (g, recall, sign) not in self._optima:
            self._optima[g, recall, sign] = self.pools[g].best_under(self._constraint(recall, sign))
        return self._optima[g, recall, sign]

    def _constraint(self, recall: float, sign: float) -> Float[Values, "M"]:
        return recall_constraint(self.pools[0].moments.shape[1], recall, sign)

    def _point(self, optima: Sequence[GroupOptimum]) -> Point:
        sizes = np.array([pool.group.size for pool in self.pools])
        value = float(sizes @ [optimum.mixture.moments[RETURN] for optimum in optima])
        bound = float(sizes @ [optimum.upper_bound for optimum in optima])
        return Point([optimum.mixture for optimum in optima], value, max(bound, value))


def recall_constraint(size: int, recall: float, sign: float) -> Float[Values, "M"]:
    """A demand on recall = accepted / all as a linear one: sign * (accepted - recall * all) >= 0."""
    constraint = np.zeros(size)
    constraint[ACCEPTED_REPAYERS], constraint[REPAYERS] = sign, -sign * recall
    return constraint


class MinRecall(Criterion):
    """Every group's recall is at least the level (one number, or one per group)."""

    separable = True

    def solve(self, level: float | Float[Values, "G"]) -> Point:
        levels = np.broadcast_to(level, len(self.pools))
        return self._point([self._group_optimum(g, float(recall), 1.0) for g, recall in enumerate(levels)])

    def demand(self, level: float) -> Demand:
        def slack(moments: Float[Values, "g M"]) -> tuple[Values, Values]:
            constraint = recall_constraint(moments.shape[1], level, 1.0)
            return moments @ constraint, np.eye(len(moments))[:, :, None] * constraint

        return slack

    def default_levels(self) -> tuple[float, float]:
        return float(np.nanmin(self.unconstrained_recalls)), 1.0


class RecallGap(Criterion):
    """The largest and the smallest recall differ by at most the level."""

    def solve(self, level: float | Float[Values, "G"]) -> Point:
        """Best-first search for the interval [rho, rho + level] of recalls, with a bound per range of rho.

        Outside [smallest, largest - level] of the unconstrained recalls the interval would only constrain more,
        because each group's best return is unimodal in its recall (the set of moments is convex).
        """
        level, free = float(level), self.unconstrained_recalls
        low, high = float(np.nanmin(free)), float(np.nanmax(free)) - level
        if high <= low:
            return self.unconstrained
        best = self._point(self._optima_within(low, level))
        queue = [(-np.inf, low, high)]
        while True:
            minus_bound, low, high = heapq.heappop(queue)
            if (
                -minus_bound - best.value <= _SEARCH_TOLERANCE * max(1.0, abs(best.value))
                or high - low < 1e-12
            ):
                return dataclasses.replace(best, upper_bound=max(-minus_bound, best.value))
            for a, b in ((low, (low + high) / 2), ((low + high) / 2, high)):
                optima = self._optima_within((a + b) / 2, level)
                best = max(best, self._point(optima), key=lambda point: point.value)
                heapq.heappush(queue, (-self._upper_bound(optima, a, b, level), a, b))

    def _optima_within(self, rho: float, level: float) -> list[GroupOptimum]:
        """Every group's best with a recall in [rho, rho + level]; only the nearer end can bind."""
        return [
            self._group_optimum(g, rho + level, -1.0)
            if recall > rho + level
            else self._group_optimum(g, rho, 1.0)
            for g, recall in enumerate(self.unconstrained_recalls)
        ]

    def _upper_bound(self, optima: list[GroupOptimum], a: float, b: float, level: float) -> float:
        """At fixed prices the value of the pricing problem is convex in rho, so it is largest at an end of [a, b]."""
        middle, bounds = (a + b) / 2, np.zeros(2)
        for pool, recall, optimum in zip(self.pools, self.unconstrained_recalls, optima, strict=True):
            upper = recall > middle + level
            for end, rho in enumerate((a, b)):
                per_person = optimum.upper_bound
                if optimum.price:
                    constraint = self._constraint(rho + level, -1.0) if upper else self._constraint(rho, 1.0)
                    per_person = pool.group.max_value(pool.return_weights + optimum.price * constraint)
                bounds[end] += pool.group.size * per_person
        return float(bounds.max())

    def demand(self, level: float) -> Demand:
        def slack(moments: Float[Values, "g M"]) -> tuple[Values, Values]:
            pairs = list(permutations(np.flatnonzero(moments[:, REPAYERS] > 0), 2))
            slacks, slope = np.full(len(pairs), level), np.zeros((len(pairs), *moments.shape))
            for p, pair in enumerate(pairs):
                for g, sign in zip(pair, (-1.0, 1.0), strict=True):
                    accepted, total = moments[g, ACCEPTED_REPAYERS], moments[g, REPAYERS]
                    slacks[p] += sign * accepted / total
                    slope[p, g, ACCEPTED_REPAYERS] = sign / total
                    slope[p, g, REPAYERS] = -sign * accepted / total**2
            return slacks, slope

        return slack

    def default_levels(self) -> tuple[float, float]:
        free = self.unconstrained_recalls
        return 0.0, float(np.nanmax(free) - np.nanmin(free))


class CreditGap(Criterion):
    """The groups' final scores differ by at most the level, in points (Kantorovich distance, largest pair)."""

    level_meaning = "score points"
    max_level = np.inf

    def solve(self, level: float | Float[Values, "G"]) -> Point | None:
        level = float(level)
        if level < self.min_gap - 1e-9:
            return None
        upper = np.append(self._constraints.upper_bounds[:-1], max(level, self.min_gap))
        constraints = dataclasses.replace(self._constraints, upper_bounds=upper)
        mixtures, value, bound = best_mixtures(self.pools, constraints)
        return Point(mixtures, value, min(bound, max(self.unconstrained.value, value)))

    @cached_property
    def min_gap(self) -> float:
        """The smallest gap that any policy reaches."""
        cost = np.append(np.zeros(len(self._constraints.upper_bounds) - 1), 1.0)
        _, value, _ = best_mixtures(self.pools, self._constraints, cost)
        return max(-value, 0.0)

    @cached_property
    def _constraints(self) -> LinkingConstraints:
        """Auxiliary variables: |CDF difference| per pair and score, then the gap, which is at least their sums."""
        size = self.pools[0].moments.shape[1]
        below = np.tri(size - FINAL, dtype=float)[:-1]  # shares up to each score but the last
        pairs = list(combinations(range(len(self.pools)), 2))
        count = len(pairs) * len(below)
        moments = np.zeros((2 * count + len(pairs), len(self.pools), size))
        auxiliary = np.zeros((len(moments), count + 1))
        for p, (g, h) in enumerate(pairs):
            each = slice(p * len(below), (p + 1) * len(below))
            for side, sign in enumerate((1.0, -1.0)):
                rows = slice(each.start + side * count, each.stop + side * count)
                moments[rows, g, FINAL:], moments[rows, h, FINAL:] = sign * below, -sign * below
                auxiliary[rows, each] = np.eye(len(below))
            auxiliary[2 * count + p, each], auxiliary[2 * count + p, -1] = -1.0, 1.0
        return LinkingConstraints(moments, auxiliary, np.append(np.ones(count), float(len(below))))

    def demand(self, level: float) -> Demand:
        def slack(moments: Float[Values, "g M"]) -> tuple[Values, Values]:
            cdf = moments[:, FINAL:].cumsum(1)[:, :-1]
            pairs = list(combinations(range(len(moments)), 2))
            gap = np.array([abs(cdf[g] - cdf[h]).sum() for g, h in pairs])
            slope = np.zeros((len(pairs), *moments.shape))
            for p, (g, h) in enumerate(pairs):
                # d cdf[c] / d share[s] = 1 for s <= c
                signs = np.append(np.sign(cdf[g] - cdf[h])[::-1].cumsum()[::-1], 0.0)
                slope[p, g, FINAL:], slope[p, h, FINAL:] = -signs, signs
            return level - gap, slope

        return slack

    def default_levels(self) -> tuple[float, float]:
        return self.min_gap, max(self.min_gap, credit_gap(self.unconstrained.moments))


CRITERIA: dict[str, type[Criterion]] = {
    "min-recall": MinRecall,
    "recall-gap": RecallGap,
    "credit-gap": CreditGap,
}
