"""Jobs on a Ray cluster: an existing one, or one that is started on this machine.

A job is done in parts, one per seed (`jobs.parts`), on as many cores as there are, and joined when its last part is
there. What travels is plain: a spec as JSON out, the files of a finished part back, so the nodes need no common disk.
Where they have one, a part whose worker died goes on from its checkpoint; elsewhere it starts again.
"""

from __future__ import annotations

import dataclasses
import json
import logging
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

from bisimulator import files
from bisimulator.errors import Interrupted, explain
from bisimulator.jobs.executors import FAILURES, Event, Listener
from bisimulator.jobs.parts import Part, join_stored, parts_of
from bisimulator.jobs.run import run
from bisimulator.jobs.seal import CONFIG, DONE, RESULTS, seal
from bisimulator.jobs.spec import Spec, spec_from_dict
from bisimulator.jobs.store import Result, load
from bisimulator.solvers.trainer import Progress

_RETRIES = 5
_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_TO_STOP = 30.0


def run_on_ray(
    specs: Sequence[Spec], out: Path, tell: Listener, *, address: str | None = None
) -> list[Result | None]:
    """As many parts at a time as the cluster has cores for; a part whose worker dies is given to another."""
    results = {job: load(out / spec.name, spec) for job, spec in enumerate(specs)}
    for job, result in results.items():
        if result is not None:
            tell(Event(job, "kept", result=result))
    left = [job for job, result in results.items() if result is None]
    if left:
        with _cluster(address) as ray:
            results |= _Foreman(ray, specs, out, tell).work(left)
    return [results[job] for job in range(len(specs))]


@contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    try:
        import ray
    except ImportError:
        raise ValueError(
            "--executor ray needs Ray; install it with: pip install 'bisimulator[cluster]', or leave --executor out"
        ) from None
    ours = not ray.is_initialized()
    if ours:
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # what Ray will do by itself one day
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        options: dict[str, Any] = {"include_dashboard": False} if address is None else {"address": address}
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings(
                    "ignore", "os.fork"
                )  # nothing of JAX runs between Ray's fork and exec
                ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
        except ConnectionError as error:
            raise ValueError(
                f"there is no Ray cluster at {address!r} ({error}); start one with `ray start --head`, or leave "
                "--ray-address out to use this machine"
            ) from None
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()


class _Foreman:
    """Hands out the parts of jobs, listens, and hands out again what was lost with its worker."""

    def __init__(self, ray: Any, specs: Sequence[Spec], out: Path, tell: Listener):
        self._ray, self._specs, self._out, self._tell = ray, specs, out.absolute(), tell
        self._tries: dict[Part, int] = {}
        self._tasks: dict[Any, Part] = {}
        self._parts: dict[int, int] = {}  # how many each job has
        self._left: dict[int, set[Part]] = {}  # of each job that is not finished
        self._progress: dict[int, dict[int, Progress]] = {}  # job -> part -> how far it is
        self._results: dict[int, Result | None] = {}
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        # beside us, where it cannot be lost with another node
        self._notes = ray.remote(Notes).options(num_cpus=0, scheduling_strategy=here).remote()

    def work(self, jobs: Sequence[int]) -> dict[int, Result | None]:
        for job in jobs:
            spec = self._specs[job]
            parts = parts_of(job, spec, self._out)
            files.write_json(self._out / spec.name / CONFIG, spec.to_dict())  # so that it is listed as begun
            self._parts[job] = len(parts)
            self._left[job] = {part for part in parts if load(part.folder, part.spec) is None}
            for part in sorted(self._left[job], key=lambda part: part.index):
                self._submit(part)
        try:
            for job in jobs:
                self._finish_if_complete(job)
            while self._tasks:
                tasks = list(self._tasks)
                ready, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=_SECONDS_BETWEEN_LOOKS)
                self._listen()
                for task in ready:
                    if task in self._tasks:  # not given up meanwhile, with its job
                        self._take(task, self._tasks.pop(task))
        except KeyboardInterrupt:
            jobs_left = len({part.job for part in self._tasks.values()})
            self._stop(list(self._tasks))
            raise Interrupted(
                f"stopped with {jobs_left} jobs left; the same command goes on from there"
            ) from None
        return self._results

    def _submit(self, part: Part) -> None:
        task = self._ray.remote(work_on).options(num_cpus=1, max_retries=0)
        place = str(part.out), part.job, part.index
        self._tasks[task.remote(json.dumps(part.spec.to_dict()), *place, self._notes)] = part

    def _take(self, task: Any, part: Part) -> None:
        """Take a part's result, or have it done again if its worker died."""
        errors = self._ray.exceptions
        try:
            _take_over(part.folder, self._ray.get(task))
        except errors.RayTaskError as error:
            if not isinstance(error.cause, FAILURES):
                raise
            self._give_up(part.job, explain(error.cause))
        except errors.RayError as error:
            self._tries[part] = self._tries.get(part, 0) + 1
            if self._tries[part] > _RETRIES:
                self._give_up(part.job, f"its worker died {self._tries[part]} times ({error})")
                return
            self._progress.get(part.job, {}).pop(part.index, None)
            self._tell(Event(part.job, "retried", message="its worker died, it is given to another"))
            self._submit(part)
        else:
            self._left[part.job].discard(part)
            self._finish_if_complete(part.job)

    def _finish_if_complete(self, job: int) -> None:
        """Join a job's parts when all of them are there; a part that was damaged meanwhile is done again."""
        if self._left[job]:
            return
        result, damaged = join_stored(job, self._specs[job], self._out)
        self._left[job] |= set(damaged)
        for part in damaged:
            self._submit(part)
        if not damaged:
            self._results[job] = result
            self._tell(Event(job, "finished", result=result))

    def _give_up(self, job: int, reason: str) -> None:
        """A job of which a part fails has failed; its other parts are stopped."""
        self._results[job] = None
        others = [task for task, part in self._tasks.items() if part.job == job]
        self._stop(others)
        for task in others:
            del self._tasks[task]
        self._tell(Event(job, "failed", message=reason))

    def _listen(self) -> None:
        for (job, part), progress in self._ray.get(self._notes.read.remote()).items():
            if job in self._results:  # what a part said before its job ended
                continue
            if job not in self._progress:
                self._progress[job] = {}
                self._tell(Event(job, "started"))
            if progress is not None:
                begun = self._progress[job]
                begun[part] = Progress(**{**progress, "recall": tuple(progress["recall"])})
                whole = together(list(begun.values()), self._parts[job])
                self._tell(Event(job, "progress", progress=whole))

    def _stop(self, tasks: Sequence[Any]) -> None:
        """As Ctrl-C does: trainings write a checkpoint and end."""
        for task in tasks:
            self._ray.cancel(task, force=False)
        if tasks:
            self._ray.wait(list(tasks), num_returns=len(tasks), timeout=_SECONDS_TO_STOP)


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


class Notes:
    """The latest progress of each part, until it is read."""

    def __init__(self) -> None:
        self._latest: dict[tuple[int, int], dict[str, Any] | None] = {}

    def write(self, job: int, part: int, progress: dict[str, Any] | None) -> None:
        self._latest[job, part] = progress

    def read(self) -> dict[tuple[int, int], dict[str, Any] | None]:
        latest, self._latest = self._latest, {}
        return latest


def work_on(config: str, out: str, job: int, part: int, notes: Any) -> dict[str, bytes]:
    """In a worker: run a part of a job and give back its files."""
    spec = spec_from_dict(json.loads(config))
    notes.write.remote(job, part, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a damaged file of an earlier try; nobody reads a worker's warnings
        run(spec, Path(out), lambda p: notes.write.remote(job, part, dataclasses.asdict(p)))
    folder = Path(out) / spec.name
    names = (CONFIG, *RESULTS)
    return {name: (folder / name).read_bytes() for name in names if (folder / name).exists()}


def _take_over(folder: Path, contents: dict[str, bytes]) -> None:
    """Write what is not here yet; `done` last."""
    if (folder / DONE).exists():
        return
    for name, content in contents.items():
        files.write_bytes(folder / name, content)
    seal(folder)
