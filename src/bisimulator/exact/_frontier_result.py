"""What `frontier` returns: the best return at each level, and the policies behind it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from bisimulator._html import html_table
from bisimulator.core import Values
from bisimulator.errors import check_array
from bisimulator.exact._occupancy import Flags
from bisimulator.exact._stationary_search import Found
from bisimulator.exact.criteria import Criterion, Point
from bisimulator.goals import Demand

_MAX_LINES, _MAX_ROWS = 5, 11  # levels in a text, and in a table


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """The best attainable return at each level of a criterion; NaN where no policy reaches the level.

    Without hidden conscientiousness, `policy(i)` attains `value[i]`, and `upper_bound` proves that it is the optimum.
    With hidden conscientiousness, `attained` is False: `value` and `upper_bound` are those of a bank that knows
    everybody's conscientiousness. No real policy exceeds them, and only `stationary_value` is attained.

    `stationary_value` and `group_blind_value` are the best found by local search from several starts: attained, but
    not proven optimal.
    """

    env: str
    criterion: str
    attained: bool
    levels: Float[Values, "L"]
    value: Float[Values, "L"]
    upper_bound: Float[Values, "L"]  # no policy exceeds it
    rates: Float[Values, "L G"]  # what the criterion is about: recalls, approval rates or returns per person
    recalls: Float[Values, "L G"]
    credit_gap: Float[Values, "L"]
    stationary_value: Float[Values, "L"]
    stationary_recalls: Float[Values, "L G"]
    group_blind_value: (
        Float[Values, "L"] | None
    )  # policies that look at the score only; None if not asked for
    group_blind_recalls: Float[Values, "L G"] | None
    unconstrained_rates: Float[Values, "G"]  # of the best policy without any demand
    unconstrained_recalls: Float[Values, "G"]
    group_names: tuple[str, ...]
    _solver: Criterion
    _points: Sequence[Point | None]
    _stationary: Sequence[Found]
    _group_blind: Sequence[Found]  # empty if not asked for

    @property
    def levelling_down(self) -> Bool[Flags, "L"]:
        """Whether a level is reached by giving some group a lower rate than it has without any demand.

        The rate is the one of the criterion, such as the approval rate for "approval-gap"; for "credit-gap" the recall.
        """
        worse: Flags = np.any(self.rates < self.unconstrained_rates - 1e-6, axis=1)
        return worse

    def best_at(self, level: ArrayLike) -> float:
        """The provable optimum at any other level: no policy exceeds it.

        Args:
            level: one number; for "min-recall" and the other "min-" criteria also one per group.

        Returns:
            The upper bound on the return; NaN if no policy reaches the level.

        Raises:
            ValueError: if the level is out of range, or there are more numbers than the criterion takes.

        Example:
            >>> best = bisimulator.frontier(bisimulator.make("lending"), levels=[1.0])
            >>> round(best.best_at(0.9), 1)
            3914.3
            >>> round(best.best_at([0.9, 0.8]), 1)  # at least 0.9 for group 1, 0.8 for group 2
            4101.3
        """
        levels = check_levels("level", level, self._solver.kind)
        groups = len(self._solver.pools)
        if levels.size != 1 and not (self._solver.separable and levels.size == groups):
            rule = f"one number or one per group ({groups})" if self._solver.separable else "one number"
            raise ValueError(f"level of {self.criterion} must be {rule}, got {levels.size} numbers: {levels}")
        point = self._solver.solve(float(levels[0]) if levels.size == 1 else levels)
        return float("nan") if point is None else point.upper_bound

    def policy(
        self, i: int, *, stationary: bool = False, group_blind: bool = False
    ) -> Float[Values, "T G C"] | Float[Values, "G C"]:
        """The policy behind the i-th level, ready for `bisimulator.evaluate`.

        Args:
            i: index into `levels`.
            stationary: return the best policy found that ignores the time, which attains `stationary_value[i]`.
            group_blind: return the best one found that ignores the time and the group, which attains
                `group_blind_value[i]`.

        Returns:
            `pi_t(accept | group, score)`, an array (steps, groups, scores) that attains `value[i]`; with `stationary`
            or `group_blind` `pi(accept | group, score)`, an array (groups, scores).

        Raises:
            ValueError: if no policy reaches the level, or none attains `value` (see `attained`), or group-blind
                policies were not asked for.

        Example:
            >>> env = bisimulator.make("lending", population=50, horizon=500)
            >>> best = bisimulator.frontier(env, levels=[0.9])
            >>> best.policy(0).shape, best.policy(0, stationary=True).shape
            ((500, 2, 7), (2, 7))
        """
        if group_blind and self.group_blind_value is None:
            raise ValueError(
                "this frontier has no group-blind policies; compute it with frontier(..., group_blind=True)"
            )
        if stationary or group_blind:
            table = (self._group_blind if group_blind else self._stationary)[i].table
            if table is None:
                raise self._not_found(i)
            return table
        if not self.attained:
            raise ValueError(
                f"no policy attains the bound of {self.env}: it knows everybody's conscientiousness; "
                f"use policy({i}, stationary=True)"
            )
        point = self._points[i]
        if point is None:
            raise self._not_found(i)
        pairs = zip(self._solver.pools, point.mixtures, strict=True)
        return np.stack([pool.policy(mixture) for pool, mixture in pairs], axis=1)

    def _not_found(self, i: int) -> ValueError:
        return ValueError(
            f"no policy was found at level {self.levels[i]:g} of {self.criterion}; choose a less strict level"
        )

    @property
    def kind(self) -> type[Demand]:
        """What is asked at each level, as `bisimulator.goals` defines it."""
        return self._solver.kind

    @property
    def _title(self) -> str:
        what = "provable optimum" if self.attained else "upper bound, not attained"
        return f"Frontier of {self.env}: best return by {self.criterion}, {len(self.levels)} levels ({what})"

    @property
    def rate_name(self) -> str:
        """What `rates` are called: "recall", "approval rate" or "return per person"."""
        return self._solver.rate_name

    @property
    def attained_columns(self) -> list[tuple[str, Float[Values, "L"]]]:
        """The returns that were found but not proven to be the best, by what the policies look at."""
        blind = [] if self.group_blind_value is None else [("score only", self.group_blind_value)]
        return [("score and group only", self.stationary_value), *blind]

    def _shown(self, limit: int) -> list[int]:
        """At most `limit` levels, evenly spaced."""
        count = len(self.levels)
        places = np.linspace(0, count - 1, min(count, limit)).round().astype(int)
        return [int(i) for i in np.unique(places)]

    def __repr__(self) -> str:
        lines = [
            f"  {self.criterion} {self.levels[i]:.3g}: {self.upper_bound[i]:.5g} "
            f"({', '.join(f'{name}: {values[i]:.5g}' for name, values in self.attained_columns)})"
            for i in self._shown(_MAX_LINES)
        ]
        return "\n".join([self._title, *lines])

    def _repr_html_(self) -> str:
        names, columns = (
            ", ".join(self.group_names),
            [("best return", self.upper_bound), *self.attained_columns],
        )
        head = (self.criterion, *(name for name, _ in columns), f"recalls ({names})")
        rows = [
            (
                f"{self.levels[i]:.3g}",
                *(f"{values[i]:.5g}" for _, values in columns),
                ", ".join(f"{recall:.3g}" for recall in self.recalls[i]),
            )
            for i in self._shown(_MAX_ROWS)
        ]
        return html_table(self._title, head, rows)


def check_levels(name: str, levels: ArrayLike, kind: type[Demand]) -> Float[Values, "L"]:
    """Levels as the user typed them, as an array."""
    array = check_array(name, levels, ndim=(0, 1), hint="pass one number or a list, such as [0.9, 1.0]")
    return check_range(name, np.atleast_1d(array), kind)


def check_range(name: str, values: Values, kind: type[Demand]) -> Values:
    """The values, if they are levels of this kind of demand."""
    wrong = values[(values < kind.min_level) | (values > kind.max_level)]
    if wrong.size:
        what = f"({kind.unit}), got {wrong.flat[0]:g}"
        if kind.max_level == 1:
            raise ValueError(f"{name} must lie in [0, 1] {what}; did you pass percentages? divide by 100")
        raise ValueError(f"{name} must not be negative {what}; pass a number such as 2.5")
    return values
