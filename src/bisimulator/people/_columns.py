"""What records and aggregated tables share: the columns of groups and scores."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from bisimulator.errors import shown


@dataclasses.dataclass(frozen=True)
class PeopleColumns:
    """Which columns a table of people has; subclasses name those of repayment, as a text or None."""

    group: str | Sequence[str]  # several: groups are their combinations
    score: str

    def _check_names(self, *optional: str) -> None:
        """Raise a TypeError unless the score and each of the `optional` columns that is named is named by a text."""
        for what in ("score", *optional):
            name = getattr(self, what)
            if not isinstance(name, str) and (name is not None or what == "score"):
                raise TypeError(f"{what} must name a column, got {shown(name)}; such as {what}='{what}'")

    @property
    def group_columns(self) -> tuple[str, ...]:
        """The columns whose combinations are the groups."""
        group = self.group
        columns = (group,) if isinstance(group, str) or not isinstance(group, Iterable) else tuple(group)
        if not columns or not all(isinstance(name, str) for name in columns):
            raise ValueError(
                f"group must name a column, or several, got {shown(group)}; such as ['race', 'sex']"
            )
        if len(set(columns)) < len(columns):
            raise ValueError(f"group names a column twice, got {shown(group)}; name each once")
        return columns
