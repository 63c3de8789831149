"""Numbers and tables as text, on a terminal and in notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan

import numpy as np
from rich.table import Table

from bisimulator.core import Env
from bisimulator.evaluation import headlines
from bisimulator.metrics import column

Summary = Mapping[str, tuple[float, float]]  # metric -> (mean, half width of the 95% interval)

OTHER_SETTINGS = "The paper's rows are for the paper's parameters; yours differ."


def number(mean: float, half: float = nan, digits: int | None = None) -> str:
    """`3582.6±53.7`, or `-` if there is none; smaller numbers with two decimals unless `digits` says how many."""
    if isnan(mean):
        return "-"
    if digits is None:
        digits = 1 if abs(mean) >= 100 else 2
    return f"{mean:.{digits}f}" + ("" if isnan(half) else f"±{half:.{digits}f}")


def headline_rows(summary: Summary) -> list[tuple[str, str]]:
    """The few metrics that say most: (title, mean ± half width)."""
    return [(column(name).title, number(*summary[name])) for name in headlines(summary)]


def plain_table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    """A table without lines; columns of words to the left, of numbers to the right. Names are never cut."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    for name in words:
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def clock(seconds: float | None) -> str:
    """`1:02:03`, or `-:--` if it is not known."""
    if seconds is None:
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def move_in_words(env: Env, bins: int) -> str:
    """`25 points (1 bin)`; in bins alone if these differ in width, and in points if scores are not bins."""
    edges = np.array(env.params.score_edges)
    count = f"{bins} {'bin' if bins == 1 else 'bins'}"
    if not edges.size:
        return f"{bins} {'point' if bins == 1 else 'points'}"
    widths = np.diff(edges)
    if np.ptp(widths) > 1e-6 * widths.max():
        return f"{count} (of {widths.min():g} to {widths.max():g} points each)"
    return f"{bins * widths.mean():.4g} points ({count})"
