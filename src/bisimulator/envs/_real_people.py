"""What the environments of real people share: their tables, and the choice of groups."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib import resources

from bisimulator.errors import check_int, check_known


def read_data(file: str) -> dict[str, list[str]]:
    """The columns of a table in `bisimulator/data`."""
    text = resources.files("bisimulator").joinpath("data", file).read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    return {name: [row[name] for row in rows] for name in rows[0]}


def choose_groups(groups: int | Sequence[str] | None, names: tuple[str, ...]) -> tuple[str, ...]:
    """All groups, the `groups` largest ones, or the named ones; `names` has the largest first."""
    if groups is None:
        return names
    if isinstance(groups, Sequence) and not isinstance(groups, str):
        for name in groups:
            check_known("group", name, names)
        return tuple(groups)
    number = check_int("groups", groups, min=1)
    if number > len(names):
        raise ValueError(
            f"groups must be at most {len(names)} ({', '.join(names)}), got {groups}; pass fewer, or names"
        )
    return names[:number]
