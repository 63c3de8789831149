"""Where many jobs stand: what every view of a reproduction shows."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Literal

from bisimulator.jobs.executors import Event
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result
from bisimulator.report._table_columns import paper_row, short_title, table_columns
from bisimulator.report.rule_tables import number
from bisimulator.solvers.trainer import Progress

State = Literal["waiting", "running", "elsewhere", "kept", "finished", "failed"]


@dataclasses.dataclass
class Job:
    spec: Spec
    state: State = "waiting"
    progress: Progress | None = None
    began: float = 0.0
    seconds: float = 0.0
    first: float = 0.0  # share that was done when this start took it up
    result: Result | None = None
    message: str = ""

    @property
    def title(self) -> str:
        return f"{self.spec.scenario} {self.spec.method}"

    @property
    def share(self) -> float:
        if self.state in ("kept", "finished", "failed"):
            return 1.0
        return 0.0 if self.progress is None else self.progress.update / self.progress.updates


class Board:
    """Takes events in and answers what is shown."""

    def __init__(self, specs: Sequence[Spec], now: Callable[[], float] = time.monotonic):
        self.jobs = [Job(spec) for spec in specs]
        self._now = now
        self.began = now()

    def take(self, event: Event) -> Job:
        job = self.jobs[event.job]
        if event.kind == "started":
            job.state, job.began, job.progress = "running", self._now(), None
        elif event.kind == "progress":
            if job.progress is None and event.progress is not None:
                job.first, job.began = event.progress.update / event.progress.updates, self._now()
            job.state, job.progress = "running", event.progress
        elif event.kind == "elsewhere":
            job.state = "elsewhere"
        elif event.kind == "retried":
            job.state, job.progress = "waiting", None
        else:
            job.state, job.result, job.message = event.kind, event.result, event.message
            job.seconds = event.result.seconds if event.result else self._now() - job.began
        return job

    @property
    def done(self) -> int:
        return sum(job.share == 1.0 and job.state not in ("running", "waiting") for job in self.jobs)

    @property
    def share(self) -> float:
        """Of all work, each job counting as long as it is expected to take, or the same where that is not known."""
        costs = [self._expected(job) or 1.0 for job in self.jobs]
        return sum(c * job.share for c, job in zip(costs, self.jobs, strict=True)) / sum(costs)

    def remaining(self, job: Job) -> float | None:
        """Seconds that a job still needs: by its own pace, or by what jobs like it took."""
        if job.share == 1.0:
            return 0.0
        done = job.share - job.first
        if job.progress is not None and done > 0:
            return (self._now() - job.began) * (1 - job.share) / done
        expected = self._expected(job)
        if expected is None or job.state != "running":
            return expected
        return max(expected - (self._now() - job.began), 0.0)

    @property
    def all_remaining(self) -> float | None:
        left = [self.remaining(job) for job in self.jobs]
        return None if any(x is None for x in left) else sum(x or 0.0 for x in left)

    def _expected(self, job: Job) -> float | None:
        """The mean of jobs of the same method, else of the same solver, else of any that was trained or not."""
        if job.result is not None:
            return job.seconds
        alike: tuple[Callable[[Spec], object], ...] = (
            lambda spec: spec.method,
            lambda spec: type(spec.solver),
        )
        for key in alike:
            known = [o.seconds for o in self.jobs if o.result is not None and key(o.spec) == key(job.spec)]
            if known:
                return fmean(known)
        return None


def row(result: Result) -> list[str]:
    """The cells of the paper's table, "return 3678±115 (paper 3869±113)" and so on."""
    spec, summary = result.spec, result.summary
    theirs = paper_row(spec)
    return [
        f"{short_title(m)} {number(*summary[m])}" + (f" ({number(*theirs[m])})" if m in theirs else "")
        for m in table_columns(spec.scenario, list(summary))
    ]


def clock(seconds: float | None) -> str:
    if seconds is None:
        return "-:--"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
