"""The frontier's second column: the best policies found that look at score and group only, level by level."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from bisimulator.core import Values
from bisimulator.exact._occupancy import RETURN
from bisimulator.exact._stationary import StationaryGroup, local_search, satisfies
from bisimulator.exact.criteria import Criterion, Point

_MANY_PARAMETERS = 20  # acceptance probabilities of one local search; with more, it only starts from close by


def stationary_policies(
    solver: Criterion, levels: Float[Values, "L"], points: Sequence[Point | None]
) -> tuple[list[Float[Values, "G C"] | None], list[Float[Values, "G M"]]]:
    """The best stationary policies found, and their moments (NaN where none was found)."""
    groups = [StationaryGroup(pool.group) for pool in solver.pools]
    reward = np.array([sum(p.share * p.accept_reward for p in g.group.types) for g in groups])
    starts = [np.ones_like(reward), np.full_like(reward, 0.5), np.where(reward > 0, 0.9, 0.1)]
    blocks = [[g] for g in range(len(groups))] if solver.separable else [list(range(len(groups)))]
    tables: list[Values | None] = []
    moments = []
    for level, point in zip(levels, points, strict=True):
        last = next((table for table in reversed(tables) if table is not None), None)
        candidates = starts if last is None else [last, *starts]
        if reward[blocks[0]].size > _MANY_PARAMETERS and point is not None:
            near = [pool.average_policy(m) for pool, m in zip(solver.pools, point.mixtures, strict=True)]
            candidates = [np.stack(near), *candidates[: last is not None]]
        demand = solver.demand(float(level))
        found = [
            local_search([groups[g] for g in block], demand, [c[block] for c in candidates])
            for block in (blocks if point is not None else [])
        ]
        known = [table for table in found if table is not None]
        tables.append(np.concatenate(known) if known and len(known) == len(found) else None)
        moments.append(_moments(groups, tables[-1]))
    best = [_best_of_all(solver, float(level), i, moments) for i, level in enumerate(levels)]
    return [tables[i] for i in best], [moments[i] for i in best]


def _best_of_all(solver: Criterion, level: float, own: int, moments: Sequence[Float[Values, "G M"]]) -> int:
    """The index whose policy is best at a level: its own, or another whose better policy also meets the level."""
    sizes, demand = np.array([pool.group.size for pool in solver.pools]), solver.demand(level)
    values = [float(np.nan_to_num(sizes @ m[:, RETURN], nan=-np.inf)) for m in moments]
    better = [i for i in range(len(moments)) if values[i] > values[own] and satisfies(demand, moments[i])]
    return max(better, key=lambda i: values[i], default=own)


def _moments(groups: Sequence[StationaryGroup], table: Float[Values, "G C"] | None) -> Float[Values, "G M"]:
    if table is None:
        return np.full((len(groups), 3 + len(groups[0].group.types[0].initial)), np.nan)
    return np.stack([group.moments(accept)[0] for group, accept in zip(groups, table, strict=True)])
