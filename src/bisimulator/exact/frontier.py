"""The best return that any policy can have at a given level of fairness, on lending.

Two columns: any policy (it may use the clock; with a proof that nothing better exists), and policies that look at
score and group only, which an agent without a clock can reach.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from bisimulator.core import Env
from bisimulator.errors import check_array, check_known
from bisimulator.exact._column_generation import Columns
from bisimulator.exact._occupancy import RETURN, groups_of
from bisimulator.exact._stationary import Stationary, climb, meets
from bisimulator.exact.chain import person_chain
from bisimulator.exact.criteria import CRITERIA, Criterion, MinRecall, Point, credit_gap, recalls

Array = NDArray[np.float64]

_MANY = 20  # acceptance probabilities that are searched for together


@dataclasses.dataclass(frozen=True, eq=False)
class Frontier:
    """One entry per level; NaN where no policy reaches the level.

    Without a hidden conscientiousness `value` is attained (by `policy(i)`), and `upper_bound` proves that nothing
    better exists. With one, `attained` is False: both are those of a bank that knows everybody's
    conscientiousness, which no real policy can exceed, and only `stationary_value` is attained.

    `stationary_value` is the best found by local search from several starts: attained, but not proven best.
    """

    env: str
    criterion: str
    attained: bool
    levels: Float[Array, "L"]
    value: Float[Array, "L"]
    upper_bound: Float[Array, "L"]
    recalls: Float[Array, "L G"]
    credit_gap: Float[Array, "L"]
    stationary_value: Float[Array, "L"]
    stationary_recalls: Float[Array, "L G"]
    free_recalls: Float[Array, "G"]  # of the best policy without any demand
    _search: Criterion
    _points: Sequence[Point | None]
    _tables: Sequence[Float[Array, "G C"] | None]

    @property
    def levelling_down(self) -> Bool[NDArray, "L"]:
        """Whether the level is reached by giving a group a lower recall than it had without any demand."""
        return np.any(self.recalls < self.free_recalls - 1e-6, axis=1)

    def best_at(self, level: Any) -> float:
        """What no policy exceeds at another level; for min-recall also at one level a group. NaN: out of reach."""
        asked = _check_levels(level, self.criterion)
        if isinstance(self._search, MinRecall):
            if len(asked) not in (1, len(self._search.groups)):
                raise ValueError(f"level must be one number or one a group, got {len(asked)} numbers")
            return self._search.solve(asked).upper_bound
        point = self._search.solve(float(asked[0]))
        return float("nan") if point is None else point.upper_bound

    def policy(self, i: int, *, stationary: bool = False) -> Float[Array, "T G C"] | Float[Array, "G C"]:
        """pi_t(accept | group, score) that attains `value[i]`; with `stationary`, pi(accept | group, score)."""
        table, point = self._tables[i], self._points[i]
        if not stationary and not self.attained:
            raise ValueError(
                f"no policy attains the bound of {self.env}: it knows everybody's conscientiousness; "
                f"ask for policy({i}, stationary=True)"
            )
        if stationary and table is not None:
            return table
        if stationary or point is None:
            raise ValueError(
                f"no policy was found at level {self.levels[i]:g} of {self.criterion}; ask for less"
            )
        pairs = zip(self._search.groups, point.mixtures, strict=True)
        return np.stack([columns.policy(mixture) for columns, mixture in pairs], axis=1)


def frontier(env: Env, criterion: str = "min-recall", levels: Any = None) -> Frontier:
    """The best return at each level of a criterion, on any lending environment.

    "min-recall": every group's recall is at least the level. "recall-gap": recalls differ by at most the level.
    "credit-gap": final scores differ by at most the level, in points. Equal recalls can be had by levelling the
    better-off down, which is why the first is the default; `levelling_down` tells where it happens. By default
    31 levels from the strictest that can be had to where the demand no longer binds.
    """
    chain = person_chain(env)
    check_known("criterion", criterion, CRITERIA)
    columns = [Columns(group) for group in groups_of(chain)]
    search = CRITERIA[criterion](columns)
    asked = np.linspace(*search.default_levels(), 31) if levels is None else _check_levels(levels, criterion)
    points = [search.solve(float(level)) for level in asked]
    tables, moments = _stationary(search, asked, points)
    nowhere = np.full_like(search.free.moments, np.nan)
    met = [nowhere if point is None else point.moments for point in points]
    sizes = np.array([c.group.size for c in columns])
    return Frontier(
        env=env.name,
        criterion=criterion,
        attained=not chain.has_hidden_type,
        levels=asked,
        value=np.array([np.nan if point is None else point.value for point in points]),
        upper_bound=np.array([np.nan if point is None else point.upper_bound for point in points]),
        recalls=np.array([recalls(m) for m in met]),
        credit_gap=np.array([credit_gap(m) for m in met]),
        stationary_value=np.array([sizes @ m[:, RETURN] for m in moments]),
        stationary_recalls=np.array([recalls(m) for m in moments]),
        free_recalls=search.free_recalls,
        _search=search,
        _points=points,
        _tables=tables,
    )


def best_return(env: Env, least_recalls: Any) -> float:
    """What no policy with at least these recalls (one number, or one a group) can exceed: the base of regret."""
    columns = [Columns(group) for group in groups_of(person_chain(env))]
    least = check_array("least_recalls", least_recalls, ndim=(0, 1), hint="pass one number, or one a group")
    if least.shape not in ((), (len(columns),)):
        raise ValueError(
            f"least_recalls must be one number or one a group ({len(columns)}), got {least.shape}"
        )
    _check_share("least_recalls", least)
    return MinRecall(columns).solve(least).upper_bound


def _check_levels(levels: Any, criterion: str) -> Float[Array, "L"]:
    asked = np.atleast_1d(check_array("levels", levels, ndim=(0, 1), hint="pass a list of levels"))
    if criterion == "credit-gap":
        if (asked < 0).any():
            raise ValueError(
                f"levels of a credit gap must not be negative, got {asked.min():g}; pass points >= 0"
            )
        return asked
    _check_share("levels", asked)
    return asked


def _check_share(name: str, values: Array) -> None:
    if (values < 0).any() or (values > 1).any():
        wrong = values[(values < 0) | (values > 1)].flat[0]
        raise ValueError(
            f"{name} are recalls in [0, 1], got {wrong:g}; did you pass percentages? divide by 100"
        )


def _stationary(
    search: Criterion, levels: Float[Array, "L"], points: Sequence[Point | None]
) -> tuple[list[Float[Array, "G C"] | None], list[Float[Array, "G M"]]]:
    """The best stationary tables found, and their moments (NaN where none was found)."""
    groups = [Stationary(columns.group) for columns in search.groups]
    gain = np.array([sum(p.share * p.gain for p in g.group.types) for g in groups])
    starts = [np.ones_like(gain), np.full_like(gain, 0.5), np.where(gain > 0, 0.9, 0.1)]
    parts = [[g] for g in range(len(groups))] if search.separate else [list(range(len(groups)))]
    tables: list[Array | None] = []
    moments = []
    for level, point in zip(levels, points, strict=True):
        last = next((table for table in reversed(tables) if table is not None), None)
        candidates = starts if last is None else [last, *starts]
        if gain[parts[0]].size > _MANY and point is not None:  # slow to climb, so only from close by
            near = [c.average(m) for c, m in zip(search.groups, point.mixtures, strict=True)]
            candidates = [np.stack(near), *candidates[: last is not None]]
        demand = search.demand(float(level))
        found = [
            climb([groups[g] for g in part], demand, [c[part] for c in candidates])
            for part in (parts if point is not None else [])
        ]
        done = found and all(part is not None for part in found)
        tables.append(np.concatenate([part for part in found if part is not None]) if done else None)
        moments.append(_moments(groups, tables[-1]))
    best = [_best_of_all(search, float(level), i, moments) for i, level in enumerate(levels)]
    return [tables[i] for i in best], [moments[i] for i in best]


def _best_of_all(search: Criterion, level: float, own: int, moments: Sequence[Float[Array, "G M"]]) -> int:
    """Where the best table for a level was found: its own place, or another at which a better one also meets it."""
    sizes, demand = np.array([columns.group.size for columns in search.groups]), search.demand(level)
    values = [float(np.nan_to_num(sizes @ m[:, RETURN], nan=-np.inf)) for m in moments]
    better = [i for i in range(len(moments)) if values[i] > values[own] and meets(demand, moments[i])]
    return max(better, key=lambda i: values[i], default=own)


def _moments(groups: Sequence[Stationary], table: Float[Array, "G C"] | None) -> Float[Array, "G M"]:
    if table is None:
        return np.full((len(groups), 3 + len(groups[0].group.types[0].initial)), np.nan)
    return np.stack([group.moments(accept)[0] for group, accept in zip(groups, table, strict=True)])
