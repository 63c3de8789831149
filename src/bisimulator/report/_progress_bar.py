"""A progress bar for the compiled training: steps, speed, remaining time, return and each group's recall."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from bisimulator.solvers.trainer import Progress

_SECONDS_BETWEEN_LINES = 10.0
_MOST_RECALLS = 4  # with more groups only the lowest and the highest are shown


@contextmanager
def progress_bar(console: Console, title: str) -> Iterator[Callable[[Progress], None]]:
    """A callback for `train`: a bar on a terminal, a plain line now and then elsewhere."""
    if not console.is_terminal:
        yield _lines(console, title)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[detail]}"),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None, detail="compiling")
        yield lambda p: bar.update(task, total=p.updates, completed=p.update, detail=describe(p))


def _lines(console: Console, title: str) -> Callable[[Progress], None]:
    last = time.monotonic()

    def tell(p: Progress) -> None:
        nonlocal last
        if time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            console.print(f"{title}: {p.update / p.updates:.0%}, {describe(p)}", soft_wrap=True)

    return tell


def describe(p: Progress) -> str:
    recalls = p.recall if len(p.recall) <= _MOST_RECALLS else (min(p.recall), max(p.recall))
    shown = " / ".join(f"{r:.2f}" for r in recalls)
    return (
        f"{p.steps:,} steps, {p.steps_per_second:,.0f} steps/s, return {p.episode_return:.0f}, recall {shown}"
    )
