"""The state of many jobs while they run: what every progress view shows."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Literal

from bisimulator.jobs.executors import Event
from bisimulator.jobs.labels import labels
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result
from bisimulator.report._table_columns import paper_row, short_title, table_columns
from bisimulator.report.text import number
from bisimulator.solvers.trainer import Progress

State = Literal["waiting", "running", "elsewhere", "kept", "finished", "failed"]


@dataclasses.dataclass
class JobState:
    spec: Spec
    label: str  # the method, and what tells it apart from the other jobs
    state: State = "waiting"
    progress: Progress | None = None
    began: float = 0.0
    seconds: float = 0.0
    resumed_at: float = 0.0  # the share that was done when this start resumed it
    result: Result | None = None
    message: str = ""

    @property
    def title(self) -> str:
        return f"{self.spec.scenario} {self.label}"

    @property
    def share(self) -> float:
        """How much of the training is done."""
        if self.state in ("kept", "finished", "failed"):
            return 1.0
        return 0.0 if self.progress is None else self.progress.update / self.progress.updates


class JobStates:
    """Takes events in and answers what is shown."""

    def __init__(self, specs: Sequence[Spec], now: Callable[[], float] = time.monotonic):
        self.jobs = [JobState(spec, label) for spec, label in zip(specs, labels(specs), strict=True)]
        self._now = now
        self._abreast = 1  # the most jobs that ran side by side

    def update(self, event: Event) -> JobState:
        job = self.jobs[event.job]
        if event.kind == "started":
            job.state, job.began, job.progress = "running", self._now(), None
        elif event.kind == "progress":
            if job.progress is None and event.progress is not None:
                job.resumed_at, job.began = event.progress.update / event.progress.updates, self._now()
            job.state, job.progress = "running", event.progress
        elif event.kind == "elsewhere":
            job.state = "elsewhere"
        elif event.kind == "retried":
            job.state, job.progress = "waiting", None
        else:
            job.state, job.result, job.message = event.kind, event.result, event.message
            job.seconds = event.result.seconds if event.result else self._now() - job.began
        self._abreast = max(self._abreast, self._running)
        return job

    @property
    def _running(self) -> int:
        return sum(job.state == "running" for job in self.jobs)

    @property
    def done(self) -> int:
        return sum(job.share == 1.0 and job.state not in ("running", "waiting") for job in self.jobs)

    @property
    def share(self) -> float:
        """Of all work; each job counts as long as it is expected to take, or the same if that is not known."""
        costs = [self._expected(job) or 1.0 for job in self.jobs]
        return sum(c * job.share for c, job in zip(costs, self.jobs, strict=True)) / sum(costs)

    def remaining(self, job: JobState) -> float | None:
        """Seconds that a job still needs: by its own pace, or by what similar jobs took."""
        work = self._work_left(job)
        return None if work is None else work * self._slowdown

    @property
    def _slowdown(self) -> float:
        """How much longer a job takes than its work: jobs that run side by side share the cores."""
        return max(self._running, 1) / self._abreast

    def _work_left(self, job: JobState) -> float | None:
        """Seconds that a job still needs of one worker."""
        if job.share == 1.0:
            return 0.0
        whole = self._training_seconds(job)
        if whole is not None:
            return whole * (1 - job.share)
        expected = self._expected(job)
        if expected is None or job.state != "running":
            return expected
        return max(expected - (self._now() - job.began) / self._slowdown, 0.0)

    @property
    def all_remaining(self) -> float | None:
        left = [self._work_left(job) for job in self.jobs]
        return None if any(x is None for x in left) else sum(x or 0.0 for x in left) / self._abreast

    def _expected(self, job: JobState) -> float | None:
        """The mean of jobs with the same method, else with the same solver, else by the pace of all jobs."""
        if job.result is not None:
            return job.seconds
        similar: tuple[Callable[[Spec], object], ...] = (
            lambda spec: spec.method,
            lambda spec: type(spec.solver),
        )
        for key in similar:
            known = [o.seconds for o in self.jobs if o.result is not None and key(o.spec) == key(job.spec)]
            if known:
                return fmean(known)
        return self._by_pace(job)

    def _by_pace(self, job: JobState) -> float | None:
        """As many seconds per step of training as the jobs that train or have trained; rules take none to speak of."""
        known = [(o, seconds) for o in self.jobs if o.spec.solver and (seconds := self._training_seconds(o))]
        steps = sum(_steps(o) for o, _ in known)
        return sum(seconds for _, seconds in known) / steps * _steps(job) if known else None

    def _training_seconds(self, job: JobState) -> float | None:
        """What a job took of one worker, or will take at its pace so far."""
        if job.result is not None:
            return job.seconds
        done = job.share - job.resumed_at
        trains = job.state == "running" and job.progress is not None and done > 0
        return (self._now() - job.began) / self._slowdown / done if trains else None


def _steps(job: JobState) -> int:
    """Steps of training of all seeds."""
    return len(job.spec.seeds) * job.spec.steps if job.spec.solver else 0


def result_cells(result: Result) -> list[str]:
    """The cells of the paper's table: "return 3678±115 (3869±113)" with the published number in parentheses."""
    spec, summary = result.spec, result.summary
    theirs = paper_row(spec)
    return [
        f"{short_title(m)} {number(*summary[m])}" + (f" ({number(*theirs[m])})" if m in theirs else "")
        for m in table_columns(spec.scenario, list(summary))
    ]
