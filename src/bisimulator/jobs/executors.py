"""Ways to run many jobs: each takes specs, the store's folder and a listener, and returns the results in that order.

A job that fails does not stop the others; its result is None and the listener gets the reason.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from bisimulator.errors import TOO_LARGE, explain
from bisimulator.jobs._lock import Busy, remove_stale
from bisimulator.jobs._memory import release
from bisimulator.jobs.run import run
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result, load
from bisimulator.solvers.trainer import Progress

_SECONDS_BETWEEN_LOOKS = 1.0
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


def run_locally(specs: Sequence[Spec], out: Path, tell: Listener) -> list[Result | None]:
    """One job after the other: a training keeps all cores busy by itself.

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
