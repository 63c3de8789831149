"""The contract of metrics: a number per group from an episode's outcome, and how its columns are presented."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from bisimulator.core.outcome import Outcome
from bisimulator.core.person_chain import Values
from bisimulator.core.scenario import Scenario

Direction: TypeAlias = Literal["higher", "lower", ""]  # which values are better; "" if neither


@dataclasses.dataclass(frozen=True)
class Column:
    """How a number is presented: in words, which direction is better, and what it can never exceed."""

    title: str
    direction: Direction
    bounds: tuple[float | None, float | None] = (None, None)
    short: str = ""  # for narrow table heads; the title if empty

    @property
    def head(self) -> str:
        return self.short or self.title


@dataclasses.dataclass(frozen=True, eq=False)
class Metric:
    """A number per group from an episode's `Outcome`, and numbers over all groups.

    `by_group` is None if only numbers over groups make sense. `overall` returns one array per name in `over_groups`.
    Columns are called `NAME_g1`, `NAME_g2`, ... and as `over_groups` says.
    """

    name: str
    summary: str
    group: Column | None
    by_group: Callable[[Outcome], Values] | None
    over_groups: Mapping[str, Column]
    overall: Callable[[Outcome], dict[str, Values]]
    applies: Callable[[Scenario], bool] = lambda scenario: True

    def columns(self, outcome: Outcome) -> dict[str, Values]:
        """Every column's values, with the leading axes of the outcome."""
        per_group = {}
        if self.by_group is not None:
            values = self.by_group(outcome)
            per_group = {f"{self.name}_g{g + 1}": values[..., g] for g in range(values.shape[-1])}
        return {**per_group, **self.overall(outcome)}

    def column(self, name: str) -> Column | None:
        """How the column `name` is presented; None if it is not this metric's."""
        if name in self.over_groups:
            return self.over_groups[name]
        number = name.removeprefix(f"{self.name}_g")
        if self.group is None or number == name or not number.isdecimal():
            return None
        short = f"{self.group.head} g{number}"
        return dataclasses.replace(self.group, title=f"{self.group.title}, group {number}", short=short)
