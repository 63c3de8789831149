"""Jobs on a Ray cluster: an existing one, or one that is started on this machine.

What travels is plain: a spec as JSON out, the files of the finished job back, so the nodes need no common disk. Where
they have one, a job whose worker died goes on from its checkpoint; elsewhere it starts again.
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
from typing import Any

from bisimulator import files
from bisimulator.errors import Interrupted, explain
from bisimulator.jobs.executors import FAILURES, Event, Listener
from bisimulator.jobs.run import run
from bisimulator.jobs.seal import CONFIG, DONE, RESULTS, seal
from bisimulator.jobs.spec import Spec, spec_from_dict
from bisimulator.jobs.store import Result, load
from bisimulator.solvers._shards import shard_seeds
from bisimulator.solvers.trainer import Progress

_RETRIES = 5
_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_TO_STOP = 30.0


def run_on_ray(
    specs: Sequence[Spec], out: Path, tell: Listener, *, address: str | None = None
) -> list[Result | None]:
    """As many jobs at a time as the cluster has cores for; a job whose worker dies is given to another."""
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
    """Hands out jobs, listens, and hands out again what was lost with its worker."""

    def __init__(self, ray: Any, specs: Sequence[Spec], out: Path, tell: Listener):
        self._ray, self._specs, self._out, self._tell = ray, specs, out.absolute(), tell
        self._tries: dict[int, int] = {}
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        # beside us, where it cannot be lost with another node
        self._notes = ray.remote(Notes).options(num_cpus=0, scheduling_strategy=here).remote()
        self._most_cores = max(int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"])

    def work(self, jobs: Sequence[int]) -> dict[int, Result | None]:
        tasks = {self._submit(job): job for job in jobs}
        results: dict[int, Result | None] = {}
        try:
            while tasks:
                ready, _ = self._ray.wait(list(tasks), timeout=_SECONDS_BETWEEN_LOOKS)
                self._listen()
                for task in ready:
                    job = tasks.pop(task)
                    if self._lost(task, job, results):
                        tasks[self._submit(job)] = job
        except KeyboardInterrupt:
            self._stop(tasks)
            raise Interrupted(
                f"stopped with {len(tasks)} jobs left; the same command goes on from there"
            ) from None
        return results

    def _submit(self, job: int) -> Any:
        spec = self._specs[job]
        cores = max(1, min(len(shard_seeds(spec.seeds)) if spec.solver else 1, self._most_cores))
        task = self._ray.remote(work_on).options(num_cpus=cores, max_retries=0)
        return task.remote(json.dumps(spec.to_dict()), str(self._out), job, self._notes)

    def _lost(self, task: Any, job: int, results: dict[int, Result | None]) -> bool:
        """Take a task's result; True where its worker died and it has to be done again."""
        spec, errors = self._specs[job], self._ray.exceptions
        try:
            _take_over(self._out / spec.name, self._ray.get(task))
        except errors.RayTaskError as error:
            if not isinstance(error.cause, FAILURES):
                raise
            results[job] = None
            self._tell(Event(job, "failed", message=explain(error.cause)))
            return False
        except errors.RayError as error:
            self._tries[job] = self._tries.get(job, 0) + 1
            if self._tries[job] > _RETRIES:
                results[job] = None
                self._tell(
                    Event(job, "failed", message=f"its worker died {self._tries[job]} times ({error})")
                )
                return False
            self._tell(Event(job, "retried", message="its worker died, it is given to another"))
            return True
        results[job] = load(self._out / spec.name, spec)
        self._tell(Event(job, "finished", result=results[job]))
        return results[job] is None

    def _listen(self) -> None:
        for job, progress in self._ray.get(self._notes.read.remote()).items():
            now = None if progress is None else Progress(**{**progress, "recall": tuple(progress["recall"])})
            self._tell(Event(job, "started" if now is None else "progress", progress=now))

    def _stop(self, tasks: dict[Any, int]) -> None:
        """As Ctrl-C does: trainings write a checkpoint and end."""
        for task in tasks:
            self._ray.cancel(task, force=False)
        self._ray.wait(list(tasks), num_returns=len(tasks), timeout=_SECONDS_TO_STOP)


class Notes:
    """The latest progress of each job, until it is read."""

    def __init__(self) -> None:
        self._latest: dict[int, dict[str, Any] | None] = {}

    def write(self, job: int, progress: dict[str, Any] | None) -> None:
        self._latest[job] = progress

    def read(self) -> dict[int, dict[str, Any] | None]:
        latest, self._latest = self._latest, {}
        return latest


def work_on(config: str, out: str, job: int, notes: Any) -> dict[str, bytes]:
    """In a worker: run the job and give back its files."""
    spec = spec_from_dict(json.loads(config))
    notes.write.remote(job, None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a damaged file of an earlier try; nobody reads a worker's warnings
        run(spec, Path(out), lambda p: notes.write.remote(job, dataclasses.asdict(p)))
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
