"""Live progress of jobs: a table on a terminal or in a notebook, plain lines elsewhere, JSON for machines."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bisimulator import registry
from bisimulator.jobs.executors import Event, Listener
from bisimulator.jobs.spec import Spec
from bisimulator.report._job_states import JobState, JobStates, result_cells
from bisimulator.report.text import clock
from bisimulator.solvers.trainer import Progress

__all__ = ["JobStates", "print_json", "progress_view"]

_SECONDS_BETWEEN_LINES = 10.0
_SHOWN_WAITING = 3
_SHOWN_RECALLS = 4  # with more groups only the lowest and the highest are shown
_ENDS = ("kept", "finished", "failed")


@contextmanager
def progress_view(states: JobStates, console: Console | None, as_json: bool = False) -> Iterator[Listener]:
    """A listener that shows what happens; without a console it only keeps the states."""
    if console is None:
        yield lambda event: _ignore(states.update(event))
    elif as_json:
        yield lambda event: _write_event(states, console, event)
    elif console.is_terminal or console.is_jupyter:
        with Live(
            console=console, refresh_per_second=4, transient=True, get_renderable=lambda: live_table(states)
        ):
            yield lambda event: _print_ended(states, console, event)
    else:
        yield _lines(states, console)


def _ignore(_: object) -> None:
    return None


def _print_ended(states: JobStates, console: Console, event: Event) -> None:
    """Finished rows stay; everything else is redrawn all the time."""
    job = states.update(event)
    if event.kind in _ENDS:
        console.print(ended_line(states, job), soft_wrap=True, highlight=False, markup=False)


def live_table(states: JobStates) -> Group:
    """One line per running job, the next few, and the overall progress."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("scenario", "method"):
        table.add_column(title, overflow="fold")
    rates = " or ".join(dict.fromkeys(rate_title(job.spec) for job in states.jobs))
    for title in ("seeds", "", "done", "steps/s", "remaining", "return", rates):
        table.add_column(title, justify="right", no_wrap=True)
    waiting = [job for job in states.jobs if job.state == "waiting"]
    active = [job for job in states.jobs if job.state in ("running", "elsewhere")]
    for job in active + waiting[:_SHOWN_WAITING]:
        table.add_row(*_cells(states, job))
    if len(waiting) > _SHOWN_WAITING:
        table.add_row(f"and {len(waiting) - _SHOWN_WAITING} more", style="dim")
    overall = Table.grid(padding=(0, 2, 0, 0))
    overall.add_row(
        f"{states.done} of {len(states.jobs)} jobs",
        ProgressBar(total=1.0, completed=states.share, width=40),
        f"{states.share:.0%}, {clock(states.all_remaining)} remaining",
    )
    return Group(table, Text(), overall)


def _cells(states: JobStates, job: JobState) -> list[RenderableType]:
    names: list[RenderableType] = [
        Text(job.spec.scenario),
        Text(job.label),
        str(len(job.spec.seeds)),
    ]
    if job.state == "elsewhere":
        return [*names, "in another process"]
    names.append(ProgressBar(total=1.0, completed=job.share, width=20))
    p = job.progress
    if p is None:
        what = "waiting" if job.state == "waiting" else "compiling" if job.spec.solver else "running"
        return [*names, what, "", clock(states.remaining(job))]
    left = clock(states.remaining(job))
    return [
        *names,
        f"{job.share:.0%}",
        f"{p.steps_per_second:,.0f}",
        left,
        f"{p.episode_return:.0f}",
        recalls(p),
    ]


def rate_title(spec: Spec) -> str:
    """What a group's rate is called that a training of this job reports."""
    name: str = registry.lookup("environment", spec.scenario).main_rate
    return name.replace("_", " ")


def recalls(p: Progress) -> str:
    shown = p.recall if len(p.recall) <= _SHOWN_RECALLS else (min(p.recall), max(p.recall))
    return " / ".join(f"{r:.2f}" for r in shown)


def ended_line(states: JobStates, job: JobState) -> str:
    if job.state == "failed":
        return f"[{states.done}/{len(states.jobs)}] {job.title}: failed, {job.message}"
    how = "finished before" if job.state == "kept" else clock(job.seconds)
    cells = ", ".join(result_cells(job.result)) if job.result else ""
    return f"[{states.done}/{len(states.jobs)}] {job.title} ({how}): {cells}"


def _lines(states: JobStates, console: Console) -> Listener:
    last = time.monotonic()
    busy: set[int] = set()

    def show(event: Event) -> None:
        nonlocal last
        job = states.update(event)
        line = ""
        if event.kind in _ENDS:
            line = ended_line(states, job)
        elif event.kind == "retried":
            line = f"{job.title}: {event.message}"
        elif event.kind == "elsewhere" and event.job not in busy:
            busy.add(event.job)
            line = f"{job.title}: another process works on it, left for later"
        elif event.progress is not None and time.monotonic() - last > _SECONDS_BETWEEN_LINES:
            p = event.progress
            line = (
                f"{job.title}: {job.share:.0%}, {clock(states.remaining(job))} remaining, {p.steps:,} steps, "
                f"{p.steps_per_second:,.0f} steps/s, return {p.episode_return:.0f}, "
                f"{rate_title(job.spec)} {recalls(p)}; "
                f"all: {states.share:.0%}, {clock(states.all_remaining)} remaining"
            )
        if line:
            last = time.monotonic()
            console.print(line, soft_wrap=True, highlight=False, markup=False)

    return show


def _write_event(states: JobStates, console: Console, event: Event) -> None:
    job = states.update(event)
    written: dict[str, object] = {
        "event": event.kind,
        "job": event.job,
        "jobs": len(states.jobs),
        "scenario": job.spec.scenario,
        "method": job.spec.method,
        "label": job.label,
        "seeds": list(job.spec.seeds),
        "folder": job.spec.name,
        "share": states.share,
        "remaining_seconds": states.all_remaining,
    }
    if event.progress is not None:
        written["progress"] = {
            **dataclasses.asdict(event.progress),
            "remaining_seconds": states.remaining(job),
        }
    if event.result is not None:
        written["seconds"] = event.result.seconds
        written["summary"] = {m: {"mean": x[0], "ci95": x[1]} for m, x in event.result.summary.items()}
    if event.message:
        written["message"] = event.message
    print_json(console, written)


def print_json(console: Console, value: object) -> None:
    """One JSON object per line; numbers that are not finite become null."""
    console.file.write(json.dumps(_finite(value), allow_nan=False) + "\n")
    console.file.flush()


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {name: _finite(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
