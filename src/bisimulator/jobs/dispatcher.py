"""Hands the parts of jobs to workers, and joins each job when the last of its parts is there.

Workers are processes of this machine (`jobs._processes`) or of a Ray cluster (`jobs._ray`). A part whose worker dies is
handed out again; where its checkpoint is, it goes on from there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, Protocol

from bisimulator import files
from bisimulator.errors import Interrupted
from bisimulator.jobs.executors import Event, Listener
from bisimulator.jobs.parts import Part, join_stored, parts_of
from bisimulator.jobs.seal import CONFIG
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result, load
from bisimulator.solvers.trainer import Progress

RETRIES = 5  # of a part whose worker died


@dataclasses.dataclass(frozen=True)
class Report:
    """What a worker says about a part; it is "busy" if a process of another command works on it."""

    part: Part
    kind: Literal["begun", "progress", "finished", "busy", "failed", "died"]
    progress: Progress | None = None
    message: str = ""


class Workers(Protocol):
    """Whoever runs parts."""

    def submit(self, part: Part) -> None:
        """Have a part run when it is its turn."""

    def reports(self) -> Iterable[Report]:
        """What was reported since the last call; waits a moment for it."""

    def cancel(self, parts: Collection[Part]) -> None:
        """Forget parts that wait, and stop those that run as Ctrl-C does: they write a checkpoint and end."""


def dispatch(workers: Workers, specs: Sequence[Spec], out: Path, tell: Listener) -> list[Result | None]:
    """The results of jobs, in their order; None for those that failed."""
    return _Dispatcher(workers, specs, out.absolute(), tell).work()


class _Dispatcher:
    def __init__(self, workers: Workers, specs: Sequence[Spec], out: Path, tell: Listener):
        self._workers, self._specs, self._out, self._tell = workers, specs, out, tell
        self._parts = [parts_of(job, spec, out) for job, spec in enumerate(specs)]
        self._left: dict[int, set[Part]] = {}  # of each job that is not finished
        self._tries: dict[Part, int] = {}
        self._progress: dict[int, dict[int, Progress]] = {}  # of the jobs that have begun, by part
        self._results: dict[int, Result | None] = {}

    def work(self) -> list[Result | None]:
        for job, spec in enumerate(self._specs):
            kept = load(self._out / spec.name, spec)
            if kept is not None:
                self._end(job, Event(job, "kept", result=kept))
                continue
            files.write_json(self._out / spec.name / CONFIG, spec.to_dict())  # so that it is listed as begun
            self._left[job] = {part for part in self._parts[job] if load(part.folder, part.spec) is None}
            for part in sorted(self._left[job], key=lambda part: part.index):
                self._workers.submit(part)
        try:
            for job in list(self._left):
                self._finish_if_complete(job)
            while self._left:
                for report in self._workers.reports():
                    if report.part in self._left.get(report.part.job, ()):  # its job was not given up
                        self._take(report)
        except KeyboardInterrupt:
            self._workers.cancel(set().union(*self._left.values()))
            raise Interrupted(
                f"stopped with {len(self._left)} of {len(self._specs)} jobs left; run the same command again to resume"
            ) from None
        return [self._results[job] for job in range(len(self._specs))]

    def _take(self, report: Report) -> None:
        part, job = report.part, report.part.job
        if job not in self._progress and report.kind in ("begun", "progress"):
            self._progress[job] = {}
            self._tell(Event(job, "started"))
        if report.kind == "progress" and report.progress is not None:
            begun = self._progress[job]
            begun[part.index] = report.progress
            whole = together(list(begun.values()), len(self._parts[job]))
            self._tell(Event(job, "progress", progress=whole))
        elif report.kind == "finished":
            self._left[job].discard(part)
            self._finish_if_complete(job)
        elif report.kind == "busy":
            self._tell(Event(job, "elsewhere"))
            self._workers.submit(part)
        elif report.kind == "failed":
            self._give_up(job, report.message)
        elif report.kind == "died":
            self._retry(part, report.message)

    def _retry(self, part: Part, reason: str) -> None:
        self._tries[part] = self._tries.get(part, 0) + 1
        if self._tries[part] > RETRIES:
            self._give_up(part.job, f"its worker died {self._tries[part]} times ({reason})")
            return
        self._progress.get(part.job, {}).pop(part.index, None)
        self._tell(Event(part.job, "retried", message="its worker died, it is given to another"))
        self._workers.submit(part)

    def _finish_if_complete(self, job: int) -> None:
        """Join a job's parts when all of them are there; a part that was damaged meanwhile is run again."""
        if self._left[job]:
            return
        result, damaged = join_stored(job, self._specs[job], self._out)
        self._left[job] |= set(damaged)
        for part in damaged:
            self._workers.submit(part)
        if not damaged:
            self._end(job, Event(job, "finished", result=result))

    def _give_up(self, job: int, reason: str) -> None:
        """A job of which a part fails has failed; its other parts are stopped."""
        self._workers.cancel(self._left[job])
        self._end(job, Event(job, "failed", message=reason))

    def _end(self, job: int, event: Event) -> None:
        self._results[job] = event.result
        self._left.pop(job, None)
        self._tell(event)


def progress_from_dict(values: Mapping[str, Any]) -> Progress:
    """What `dataclasses.asdict` made of it, also by way of JSON."""
    return Progress(**{**values, "recall": tuple(values["recall"])})


def together(parts: Sequence[Progress], count: int) -> Progress:
    """How far a job is of whose `count` parts these have begun; one that is done does no more steps per second."""
    first = parts[0]
    running = [part for part in parts if part.update < part.updates]
    return Progress(
        update=sum(part.update for part in parts) // count,
        updates=first.updates,
        steps=sum(part.steps for part in parts) // count,
        steps_per_second=sum(part.steps_per_second for part in running or parts),
        episode_return=fmean(part.episode_return for part in parts),
        recall=tuple(fmean(group) for group in zip(*(part.recall for part in parts), strict=True)),
        diagnostics={name: fmean(part.diagnostics[name] for part in parts) for name in first.diagnostics},
    )
