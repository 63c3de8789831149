"""Ways to run many jobs. Each takes specs, the store and a listener, and gives the results in the order of the specs.

A job that fails does not stop the others; its result is None and the listener hears why.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from bisimulator.jobs._lock import Busy
from bisimulator.jobs.run import run
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result, load
from bisimulator.solvers.trainer import Progress

_SECONDS_BETWEEN_LOOKS = 1.0


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happened to the job at place `job` of the list; a kept one was finished before."""

    job: int
    kind: Literal["kept", "started", "progress", "elsewhere", "retried", "finished", "failed"]
    progress: Progress | None = None
    result: Result | None = None
    message: str = ""


Listener = Callable[[Event], None]
Executor = Callable[[Sequence[Spec], Path, Listener], list[Result | None]]


def run_locally(specs: Sequence[Spec], out: Path, tell: Listener) -> list[Result | None]:
    """One job after the other: a training keeps all cores busy by itself.

    What another process is at is left for later, and its result taken when it is there.
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
        tell(Event(job, "kept", result=kept))
        return kept
    tell(Event(job, "started"))
    try:
        result = run(spec, out, lambda p: tell(Event(job, "progress", progress=p)), patience=0)
    except FloatingPointError as error:
        tell(Event(job, "failed", message=str(error)))
        return None
    tell(Event(job, "finished", result=result))
    return result
