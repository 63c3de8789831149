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
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bisimulator import files
from bisimulator.errors import explain
from bisimulator.jobs.dispatcher import Report, dispatch, progress_from_dict
from bisimulator.jobs.executors import FAILURES, Listener, load_all
from bisimulator.jobs.parts import Part
from bisimulator.jobs.run import run
from bisimulator.jobs.seal import CONFIG, DONE, RESULTS, seal
from bisimulator.jobs.spec import Spec, spec_from_dict
from bisimulator.jobs.store import Result

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_TO_STOP = 30.0


def run_on_ray(
    specs: Sequence[Spec], out: Path, tell: Listener, *, address: str | None = None
) -> list[Result | None]:
    """As many parts at a time as the cluster has cores for; a part whose worker dies is given to another."""
    kept = load_all(specs, out, tell)
    if kept is not None:
        return kept
    with _cluster(address) as ray:
        return dispatch(_RayWorkers(ray), specs, out, tell)


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


class _RayWorkers:
    """`dispatcher.Workers`: a task of Ray for each part."""

    def __init__(self, ray: Any):
        self._ray = ray
        self._tasks: dict[Any, Part] = {}
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=False
        )
        # beside us, where it cannot be lost with another node
        self._notes = ray.remote(Notes).options(num_cpus=0, scheduling_strategy=here).remote()

    def submit(self, part: Part) -> None:
        one_core = {"env_vars": {"NPROC": "1"}}  # the threads of XLA's pool
        task = self._ray.remote(work_on).options(num_cpus=1, max_retries=0, runtime_env=one_core)
        place = str(part.out), part.job, part.index
        self._tasks[task.remote(json.dumps(part.spec.to_dict()), *place, self._notes)] = part

    def reports(self) -> Iterator[Report]:
        tasks = list(self._tasks)
        ready, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=_SECONDS_BETWEEN_LOOKS)
        at_work = {(part.job, part.index): part for part in self._tasks.values()}
        for place, progress in self._ray.get(self._notes.read.remote()).items():
            if place not in at_work:  # what a part said before it was cancelled
                continue
            if progress is None:
                yield Report(at_work[place], "begun")
            else:
                yield Report(at_work[place], "progress", progress_from_dict(progress))
        for task in ready:
            if task in self._tasks:  # not cancelled meanwhile
                yield self._result(task, self._tasks.pop(task))

    def cancel(self, parts: Collection[Part]) -> None:
        tasks = [task for task, part in self._tasks.items() if part in parts]
        for task in tasks:
            self._ray.cancel(task, force=False)
            del self._tasks[task]
        if tasks:
            self._ray.wait(tasks, num_returns=len(tasks), timeout=_SECONDS_TO_STOP)

    def _result(self, task: Any, part: Part) -> Report:
        errors = self._ray.exceptions
        try:
            _take_over(part.folder, self._ray.get(task))
        except errors.RayTaskError as error:
            if not isinstance(error.cause, FAILURES):
                raise
            return Report(part, "failed", message=explain(error.cause))
        except errors.RayError as error:
            return Report(part, "died", message=str(error))
        return Report(part, "finished")


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
