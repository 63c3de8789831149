"""The frontier's attained columns: the best policies found by score and group, and by score alone, level by level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bisimulator.core import Values
from bisimulator.exact._rate_search import RateSearch
from bisimulator.exact._stationary import (
    StationaryGroup,
    group_moments,
    local_search,
    satisfies,
    total_return,
)
from bisimulator.exact.criteria import Criterion, Point
from bisimulator.goals import Demand
from bisimulator.goals.moments import M

_MANY_PARAMETERS = 20  # acceptance probabilities of one local search; with more, it only starts from close by


class Found(NamedTuple):
    """A policy pi(accept | group, score) and its moments; None and NaN if none was found."""

    table: Float[Values, "G C"] | None
    moments: Float[Values, "G M"]


def stationary_policies(
    solver: Criterion,
    levels: Float[Values, "L"],
    points: Sequence[Point | None],
    others: Sequence[Found] = (),
    on_progress: Callable[[float], None] = lambda share: None,
) -> list[Found]:
    """The best policies found by score and group, one per level; `others` are policies that may be better."""
    groups = [StationaryGroup(pool.group) for pool in solver.pools]
    search = (_OneByOne if solver.separable else _Together)(solver, groups)
    found: list[Found] = []
    for level, point in zip(levels, points, strict=True):
        last = next((f.table for f in reversed(found) if f.table is not None), None)
        table = None if point is None else search.at(solver.kind(float(level)), point, last)
        found.append(_found(groups, table))
        on_progress(len(found) / len(levels))
    return _best_of_all(solver, groups, levels, found, others)


class _OneByOne:
    """Every group has a demand of its own, so that each is searched by itself."""

    def __init__(self, solver: Criterion, groups: Sequence[StationaryGroup]) -> None:
        self._groups = groups
        self._free = [RateSearch(group, None).best(()) for group in groups]

    def at(self, demand: Demand, point: Point, last: Float[Values, "G C"] | None) -> Float[Values, "G C"]:
        return np.stack([self._row(g, demand, last) for g in range(len(self._groups))])

    def _row(self, g: int, demand: Demand, last: Float[Values, "G C"] | None) -> Float[Values, "C"]:
        group, free = self._groups[g], self._free[g]
        if satisfies(demand, group.moments(free)[0][None]):
            return free
        return RateSearch(group, demand).best(() if last is None else (last[g],))


class _Together:
    """Demands compare groups, so that all of them are searched at once."""

    def __init__(self, solver: Criterion, groups: Sequence[StationaryGroup]) -> None:
        self._groups, self._pools, reward = groups, solver.pools, _mean_reward(groups)
        self._starts = [np.ones_like(reward), np.full_like(reward, 0.5), np.where(reward > 0, 0.9, 0.1)]

    def at(
        self, demand: Demand, point: Point, last: Float[Values, "G C"] | None
    ) -> Float[Values, "G C"] | None:
        near = [] if last is None else [last]
        if self._starts[0].size <= _MANY_PARAMETERS:
            return local_search(self._groups, demand, [*near, *self._starts])
        average = [pool.average_policy(m) for pool, m in zip(self._pools, point.mixtures, strict=True)]
        return local_search(self._groups, demand, [np.stack(average), *near])


def group_blind_policies(
    solver: Criterion, levels: Float[Values, "L"], points: Sequence[Point | None]
) -> list[Found]:
    """The best policies found by score alone, the same for all groups, one per level."""
    groups = [StationaryGroup(pool.group) for pool in solver.pools]
    sizes = np.array([group.group.size for group in groups])
    reward = sizes @ _mean_reward(groups)
    thresholds = [_found(groups, row[None]) for row in np.tri(len(reward) + 1, len(reward), -1)[:, ::-1]]
    starts = [np.full((1, len(reward)), 0.5), np.where(reward > 0, 0.9, 0.1)[None]]
    found: list[Found] = []
    for level, point in zip(levels, points, strict=True):
        demand = solver.kind(float(level))
        feasible = [t for t in thresholds if satisfies(demand, t.moments)]
        best = max(feasible, key=lambda t: total_return(groups, t.moments), default=None)
        near = [f.table[:1] for f in (best, *found[-1:]) if f is not None and f.table is not None]
        row = None if point is None else local_search(groups, demand, [*near, *starts])
        found.append(_found(groups, row))
    return _best_of_all(solver, groups, levels, found, thresholds)


def _best_of_all(
    solver: Criterion,
    groups: Sequence[StationaryGroup],
    levels: Float[Values, "L"],
    found: Sequence[Found],
    others: Sequence[Found],
) -> list[Found]:
    """At each level its own policy, or a better one, of another level or another kind, that also meets the level."""
    pairs = [
        (f, float(np.nan_to_num(total_return(groups, f.moments), nan=-np.inf))) for f in (*found, *others)
    ]

    def best(own: int, level: float) -> Found:
        demand = solver.kind(level)
        better = [p for p in pairs if p[1] > pairs[own][1] and satisfies(demand, p[0].moments)]
        return max(better, key=lambda pair: pair[1], default=pairs[own])[0]

    return [best(i, float(level)) for i, level in enumerate(levels)]


def _mean_reward(groups: Sequence[StationaryGroup]) -> Float[Values, "G C"]:
    """The expected reward of accepting somebody of each group and score."""
    return np.array([sum(p.share * p.accept_reward for p in g.group.types) for g in groups])


def _found(groups: Sequence[StationaryGroup], accept: Float[Values, "r C"] | None) -> Found:
    scores = len(groups[0].group.types[0].initial)
    if accept is None:
        return Found(None, np.full((len(groups), M.FINAL + scores), np.nan))
    table = np.tile(accept, (len(groups) // len(accept), 1))
    return Found(table, group_moments(groups, table)[0])
