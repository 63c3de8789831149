"""Fairness criteria of a frontier: each finds the best attainable return at a level of fairness."""

from __future__ import annotations

import abc
import dataclasses
import heapq
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bisimulator.core import Values
from bisimulator.exact._column_generation import (
    ColumnPool,
    GroupOptimum,
    Mixture,
    best_mixtures,
    gap_constraints,
)
from bisimulator.goals import Demand
from bisimulator.goals.demands import DistributionGap, MinRate, MinRecall, RateGap
from bisimulator.goals.moments import M

# Measured, see docs/exact/frontier.md: 60 groups with 7 scores take about 100 s of CPU time per level, and 0.6 GB.
_MAX_COMPARED = 60  # groups that are searched together
_MAX_TABLE, _MAX_DISTRIBUTIONS = 700, 420  # their number times that of scores: of rates, and of final scores
_ALL_PAIRS = 10  # groups of which all pairs are compared at once
_MAX_GROUPS = 1_000  # that are searched one by one: 10 s per level
_SEARCH_TOLERANCE = 1e-6  # of the value: when the search for the best interval of rates stops


def rates(kind: type[Demand], moments: Float[Values, "g M"]) -> Float[Values, "g"]:
    """Each group's rate, such as its recall; NaN for a group without a denominator."""
    found = kind(0.0).rates(moments, np)[:, 0]
    known: Values = np.where(moments[:, kind.denominator] > 0, found, np.nan)
    return known


def recalls(moments: Float[Values, "g M"]) -> Float[Values, "g"]:
    """Accepted repayers out of all repayers; NaN for a group in which nobody would ever repay."""
    return rates(MinRecall, moments)


def credit_gap(moments: Float[Values, "g M"]) -> float:
    """The largest Kantorovich distance between two groups' final scores, in points."""
    return float(_distances(moments).max())


def _distances(moments: Float[Values, "g M"]) -> Float[Values, "g g"]:
    cdf = moments[:, M.FINAL :].cumsum(1)[:, :-1]
    between: Values = abs(cdf[:, None] - cdf).sum(-1)
    return between


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
    """What every criterion shares: a kind of demand, the optimum without it, and each group's best under a rate."""

    separable: ClassVar[bool] = False  # one demand per group, so that a level may be one number per group

    def __init__(self, kind: type[Demand], pools: Sequence[ColumnPool]) -> None:
        self.kind, self.pools = kind, pools
        self._optima: dict[tuple[int, float, float], GroupOptimum | None] = {}

    @abc.abstractmethod
    def solve(self, level: float | Float[Values, "G"]) -> Point | None:
        """The best at `level`, or at one level per group if `separable`; None if no policy reaches it."""

    @property
    def rate_name(self) -> str:
        """What `rates` are called."""
        return self.kind.rate

    def rates(self, moments: Float[Values, "g M"]) -> Float[Values, "g"]:
        """What the demand is about, per group; NaN for a group without a rate."""
        return rates(self.kind, moments)

    @abc.abstractmethod
    def default_levels(self) -> tuple[float, float]:
        """The strictest level that can be reached and the one at which it stops binding, in ascending order."""

    @cached_property
    def unconstrained(self) -> Point:
        """The best without any demand."""
        mixtures = [pool.mix([pool.unconstrained], [1.0]) for pool in self.pools]
        value = float(
            sum(p.group.size * m.moments[M.REWARD] for p, m in zip(self.pools, mixtures, strict=True))
        )
        return Point(mixtures, value, value)

    @cached_property
    def unconstrained_rates(self) -> Float[Values, "G"]:
        """The rates of the best policy without any demand."""
        return self.rates(self.unconstrained.moments)

    @cached_property
    def strictest(self) -> float:
        """The highest rate that every group can reach: accepting everybody, or the highest return, is in each pool."""
        return float(np.nanmin([self.rates(pool.moments).max() for pool in self.pools]))

    def _group_optimum(self, g: int, rate: float, sign: float) -> GroupOptimum | None:
        """Group g's best subject to sign * (its rate - rate) >= 0."""
        if (g, rate, sign) not in self._optima:
            self._optima[g, rate, sign] = self.pools[g].best_under(self._constraint(rate, sign))
        return self._optima[g, rate, sign]

    def _constraint(self, rate: float, sign: float) -> Float[Values, "M"]:
        """A demand on a rate as a linear one: sign * (numerator - rate * denominator) >= 0."""
        constraint = np.zeros(self.pools[0].moments.shape[1])
        constraint[self.kind.numerator], constraint[self.kind.denominator] = sign, -sign * rate
        return constraint

    def _point(self, optima: Sequence[GroupOptimum]) -> Point:
        sizes = np.array([pool.group.size for pool in self.pools])
        value = float(sizes @ [optimum.mixture.moments[M.REWARD] for optimum in optima])
        bound = float(sizes @ [optimum.upper_bound for optimum in optima])
        return Point([optimum.mixture for optimum in optima], value, max(bound, value))


class MinRateCriterion(Criterion):
    """Every group's rate is at least the level (one number, or one per group)."""

    separable = True

    def solve(self, level: float | Float[Values, "G"]) -> Point | None:
        levels = np.broadcast_to(level, len(self.pools))
        optima = [self._group_optimum(g, float(rate), 1.0) for g, rate in enumerate(levels)]
        reached = [optimum for optimum in optima if optimum is not None]
        return self._point(reached) if len(reached) == len(optima) else None

    def default_levels(self) -> tuple[float, float]:
        free = float(np.nanmin(self.unconstrained_rates))
        # a return that can be reached is reached without any demand
        return (min(free, 0.0) if free == self.strictest else free), self.strictest


class RateGapCriterion(Criterion):
    """The largest and the smallest rate differ by at most the level."""

    def solve(self, level: float | Float[Values, "G"]) -> Point:
        """Best-first search for the interval [rho, rho + level] of rates, with a bound per range of rho.

        Outside [smallest, largest - level] of the unconstrained rates the interval would only constrain more,
        because each group's best return is unimodal in its rate (the set of moments is convex).
        """
        level, free = float(level), self.unconstrained_rates
        low, high = float(np.nanmin(free)), float(np.nanmax(free)) - level
        if high <= low:
            return self.unconstrained
        best, high = self._point(self._optima_within(low, level)), min(high, self.strictest)
        if high <= low:
            return best
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
        """Every group's best with a rate in [rho, rho + level]; only the nearer end can bind."""
        ends = [
            (rho + level, -1.0) if rate > rho + level else (rho, 1.0) for rate in self.unconstrained_rates
        ]
        optima = [self._group_optimum(g, *end) for g, end in enumerate(ends)]
        reached = [optimum for optimum in optima if optimum is not None]
        assert len(reached) == len(optima)  # every group reaches all rates up to `strictest`
        return reached

    def _upper_bound(self, optima: list[GroupOptimum], a: float, b: float, level: float) -> float:
        """At fixed prices the value of the pricing problem is convex in rho, so it is largest at an end of [a, b]."""
        middle, bounds = (a + b) / 2, np.zeros(2)
        for pool, rate, optimum in zip(self.pools, self.unconstrained_rates, optima, strict=True):
            upper = rate > middle + level
            for end, rho in enumerate((a, b)):
                per_person = optimum.upper_bound
                if optimum.price:
                    constraint = self._constraint(rho + level, -1.0) if upper else self._constraint(rho, 1.0)
                    per_person = pool.group.max_value(pool.return_weights + optimum.price * constraint)
                bounds[end] += pool.group.size * per_person
        return float(bounds.max())

    def default_levels(self) -> tuple[float, float]:
        free = self.unconstrained_rates
        return 0.0, float(np.nanmax(free) - np.nanmin(free))


class DistributionGapCriterion(Criterion):
    """The groups' final scores differ by at most the level, in points (Kantorovich distance, largest pair)."""

    def __init__(self, kind: type[Demand], pools: Sequence[ColumnPool]) -> None:
        super().__init__(kind, pools)
        self._compared: list[tuple[int, int]] = []  # pairs of groups in the linear programme
        if len(pools) > _ALL_PAIRS:
            self._compare(self.unconstrained.moments, -1.0)
        else:
            self._compared.extend(combinations(range(len(pools)), 2))

    @property
    def rate_name(self) -> str:
        return MinRecall.rate

    def rates(self, moments: Float[Values, "g M"]) -> Float[Values, "g"]:
        """Recalls: a distribution is more than one number, and levelling down is a lower recall."""
        return recalls(moments)

    def solve(self, level: float | Float[Values, "G"]) -> Point | None:
        level = float(level)
        if level < self.min_gap - 1e-9:
            return None
        while True:
            constraints = gap_constraints(self.pools, self._compared, max(level, self.min_gap))
            mixtures, value, bound = best_mixtures(self.pools, constraints)
            point = Point(mixtures, value, min(bound, max(self.unconstrained.value, value)))
            if not self._compare(point.moments, max(level, self.min_gap)):
                return point

    @cached_property
    def min_gap(self) -> float:
        """The smallest gap that any policy reaches."""
        while True:
            constraints = gap_constraints(self.pools, self._compared)
            cost = np.append(np.zeros(len(constraints.upper_bounds) - 1), 1.0)
            mixtures, value, _ = best_mixtures(self.pools, constraints, cost)
            if not self._compare(np.stack([mixture.moments for mixture in mixtures]), -value):
                return max(-value, 0.0)

    def _compare(self, moments: Float[Values, "G M"], level: float) -> bool:
        """Compare from now on the pairs that exceed the level by most, at most one more per group; whether any does.

        Without some pairs the optimum is an upper bound on the one with all of them, and no pair exceeds the level at
        the end, so that nothing is lost.
        """
        distance = _distances(moments)
        distance[tuple(np.array(self._compared, int).reshape(-1, 2).T)] = 0.0
        more = [
            (d, g, h)
            for g, row in enumerate(distance)
            for h, d in enumerate(row)
            if g < h and d > level + 1e-9
        ]
        self._compared.extend((g, h) for _, g, h in heapq.nlargest(len(distance), more))
        return bool(more)

    def default_levels(self) -> tuple[float, float]:
        return self.min_gap, max(self.min_gap, credit_gap(self.unconstrained.moments))


_CRITERIA: dict[type[Demand], type[Criterion]] = {
    MinRate: MinRateCriterion,
    RateGap: RateGapCriterion,
    DistributionGap: DistributionGapCriterion,
}


def why_too_large(kind: type[Demand], groups: int, scores: int) -> str:
    """Why there is no frontier of so many groups, in a sentence without a full stop; empty if there is one."""
    most = _MAX_DISTRIBUTIONS if issubclass(kind, DistributionGap) else _MAX_TABLE
    if not issubclass(kind, MinRate) and (groups > _MAX_COMPARED or groups * scores > most):
        return (
            f"the frontier of {kind.name} compares at most {_MAX_COMPARED} groups, and {most} groups times scores, got "
            f"{groups:,} groups with {scores} scores; merge groups, or ask for min-recall"
        )
    if groups > _MAX_GROUPS:
        return f"a frontier takes at most {_MAX_GROUPS:,} groups, got {groups:,}; merge groups"
    return ""


def make_criterion(kind: type[Demand], pools: Sequence[ColumnPool]) -> Criterion:
    """The criterion of a kind of demand, by what it is derived from."""
    return next(_CRITERIA[base] for base in kind.__mro__ if base in _CRITERIA)(kind, pools)
