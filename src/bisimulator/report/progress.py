"""Views of a reproduction while it runs: a moving table on a terminal, plain lines elsewhere, JSON for machines."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bisimulator.jobs.executors import Event, Listener
from bisimulator.report._job_states import Board, Job, clock, row
from bisimulator.report._progress_bar import describe

_SECONDS_BETWEEN_LINES = 10.0
_SHOWN_WAITING = 3
_ENDS = ("kept", "finished", "failed")


@contextmanager
def view(board: Board, console: Console, as_json: bool = False) -> Iterator[Listener]:
    """A listener that shows what happens."""
    if as_json:
        yield lambda event: _json(board, console, event)
    elif console.is_terminal:
        with Live(
            console=console, refresh_per_second=4, transient=True, get_renderable=lambda: moving(board)
        ):
            yield lambda event: _note(board, console, event)
    else:
        yield _lines(board, console)


def _note(board: Board, console: Console, event: Event) -> None:
    """Finished rows stay; everything else is drawn anew all the time."""
    job = board.take(event)
    if event.kind in _ENDS:
        console.print(ended(board, job), soft_wrap=True, highlight=False, markup=False)


def moving(board: Board) -> Group:
    """One line a job that is being worked on, the next few, and the overall progress."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("scenario", "method"):
        table.add_column(title, no_wrap=True)
    for title in ("seeds", "", "done", "steps/s", "remaining"):
        table.add_column(title, justify="right", no_wrap=True)
    waiting = [job for job in board.jobs if job.state == "waiting"]
    for job in [j for j in board.jobs if j.state in ("running", "elsewhere")] + waiting[:_SHOWN_WAITING]:
        table.add_row(*_cells(board, job))
    if len(waiting) > _SHOWN_WAITING:
        table.add_row(f"and {len(waiting) - _SHOWN_WAITING} more", style="dim")
    overall = Table.grid(padding=(0, 2, 0, 0))
    overall.add_row(
        f"{board.done} of {len(board.jobs)} jobs",
        ProgressBar(total=1.0, completed=board.share, width=40),
        f"{board.share:.0%}, {clock(board.all_remaining)} remaining",
    )
    return Group(table, Text(), overall)


def _cells(board: Board, job: Job) -> tuple[Any, ...]:
    names = (job.spec.scenario, job.spec.method, str(len(job.spec.seeds)))
    if job.state == "elsewhere":
        return (*names, "in another process", "", "", "")
    bar = ProgressBar(total=1.0, completed=job.share, width=20)
    if job.progress is None:
        what = "waiting" if job.state == "waiting" else "compiling" if job.spec.solver else "running"
        return (*names, bar, what, "", clock(board.remaining(job)))
    speed = f"{job.progress.steps_per_second:,.0f}"
    return (*names, bar, f"{job.share:.0%}", speed, clock(board.remaining(job)))


def ended(board: Board, job: Job) -> str:
    if job.state == "failed":
        return f"[{board.done}/{len(board.jobs)}] {job.title}: failed, {job.message}"
    how = "kept" if job.state == "kept" else clock(job.seconds)
    return f"[{board.done}/{len(board.jobs)}] {job.title} ({how}): {', '.join(row(job.result) if job.result else ())}"


def _lines(board: Board, console: Console) -> Listener:
    last = time.monotonic()
    busy: set[int] = set()

    def tell(event: Event) -> None:
        nonlocal last
        job = board.take(event)
        line = ""
        if event.kind in _ENDS:
            line = ended(board, job)
        elif event.kind == "retried":
            line = f"{job.title}: {event.message}"
        elif event.kind == "elsewhere" and event.job not in busy:
            busy.add(event.job)
            line = f"{job.title}: another process is at it, left for later"
        elif event.progress is not None and time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            line = (
                f"{job.title}: {job.share:.0%}, {clock(board.remaining(job))} remaining, "
                f"{describe(event.progress)}; all: {board.share:.0%}, {clock(board.all_remaining)} remaining"
            )
        if line:
            last = time.monotonic()
            console.print(line, soft_wrap=True, highlight=False, markup=False)

    return tell


def _json(board: Board, console: Console, event: Event) -> None:
    job = board.take(event)
    told: dict[str, Any] = {
        "event": event.kind,
        "job": event.job,
        "jobs": len(board.jobs),
        "scenario": job.spec.scenario,
        "method": job.spec.method,
        "seeds": list(job.spec.seeds),
        "folder": job.spec.name,
        "share": board.share,
        "remaining_seconds": board.all_remaining,
    }
    if event.progress is not None:
        told["progress"] = {**dataclasses.asdict(event.progress), "remaining_seconds": board.remaining(job)}
    if event.result is not None:
        told["seconds"] = event.result.seconds
        told["summary"] = {m: {"mean": x[0], "ci95": x[1]} for m, x in event.result.summary.items()}
    if event.message:
        told["message"] = event.message
    print_json(console, told)


def print_json(console: Console, told: Any) -> None:
    console.file.write(json.dumps(_finite(told), allow_nan=False) + "\n")
    console.file.flush()


def _finite(value: Any) -> Any:
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {name: _finite(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
