"""Ways to run many jobs: each takes specs, the store's folder and a listener, and returns the results in that order.

A job that fails does not stop the others; its result is None and the listener gets the reason.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from bisimulator import registry
from bisimulator.errors import TOO_LARGE, check_int, explain
from bisimulator.jobs._lock import Busy, remove_stale
from bisimulator.jobs._memory import release
from bisimulator.jobs.run import run
from bisimulator.jobs.seal import DONE
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result, load
from bisimulator.solvers._shards import available_cores
from bisimulator.solvers.trainer import Progress

_SECONDS_BETWEEN_LOOKS = 1.0
_WORTH_WORKERS = 100_000  # decisions of training; fewer take no longer than starting processes
# What ends one job and not the others. Ctrl-C and a full disk end all of them.
FAILURES = (ArithmeticError, ValueError, TypeError, KeyError, *TOO_LARGE)


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happened to the job at index `job` of the list; a kept one was finished before."""

    job: int
    kind: Literal["kept", "started", "progress", "elsewhere", "retried", "finished", "failed"]
    progress: Progress | None = None
    result: Result | None = None
    message: str = ""


Listener = Callable[[Event], None]
Executor = Callable[[Sequence[Spec], Path, Listener], list[Result | None]]


def run_locally(
    specs: Sequence[Spec], out: Path, tell: Listener, *, processes: int | None = None
) -> list[Result | None]:
    """In so many worker processes; by default one per core if that is worth starting them, else in this process."""
    count = available_cores() if processes is None else check_int("processes", processes, min=1)
    if count > 1 and all(map(_known_elsewhere, specs)) and (processes or _decisions(specs) >= _WORTH_WORKERS):
        kept = load_all(specs, out, tell)
        if kept is not None:
            return kept
        from bisimulator.jobs._processes import worker_processes
        from bisimulator.jobs.dispatcher import dispatch

        with worker_processes(count) as workers:
            return dispatch(workers, specs, out, tell)
    return run_in_turn(specs, out, tell)


def load_all(specs: Sequence[Spec], out: Path, tell: Listener) -> list[Result | None] | None:
    """The results of jobs if all of them are finished; then nobody needs to be started for them."""
    if not all((out / spec.name / DONE).exists() for spec in specs):
        return None
    kept: list[Result | None] = [load(out / spec.name, spec) for spec in specs]
    if None in kept:
        return None
    for job, result in enumerate(kept):
        tell(Event(job, "kept", result=result))
    return kept


def _known_elsewhere(spec: Spec) -> bool:
    """Whether another process finds the environment and the method: not if this program registered them."""
    return not (
        registry.is_registered("environment", spec.scenario) or registry.is_registered("method", spec.method)
    )


def _decisions(specs: Sequence[Spec]) -> int:
    return sum(len(spec.seeds) * spec.steps for spec in specs if spec.solver is not None)


def run_in_turn(specs: Sequence[Spec], out: Path, tell: Listener) -> list[Result | None]:
    """One job after the other in this process, with its seeds in threads.

    A job that another process works on is left for later, and its result is used when it is there.
    """
    results: dict[int, Result | None] = {}
    waiting = list(range(len(specs)))
    while waiting:
        busy = []
        for job in waiting:
            try:
                results[job] = _run_one(job, specs[job], out, tell)
            except Busy:
                tell(Event(job, "elsewhere"))
                busy.append(job)
        if busy == waiting:
            time.sleep(_SECONDS_BETWEEN_LOOKS)
        waiting = busy
    return [results[job] for job in range(len(specs))]


def _run_one(job: int, spec: Spec, out: Path, tell: Listener) -> Result | None:
    kept = load(out / spec.name, spec)
    if kept is not None:
        remove_stale(out / spec.name)
        tell(Event(job, "kept", result=kept))
        return kept
    tell(Event(job, "started"))
    try:
        result = run(spec, out, lambda p: tell(Event(job, "progress", progress=p)), patience=0)
    except FAILURES as error:
        tell(Event(job, "failed", message=explain(error)))
        return None
    finally:
        release()
    tell(Event(job, "finished", result=result))
    return result
