"""A worker process: runs the parts of jobs that come as lines of JSON, and reports on each as lines of JSON."""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import signal
import sys
import threading
import traceback
import warnings
from pathlib import Path
from typing import Any, TextIO

from bisimulator._signals import noticing_stops
from bisimulator.errors import Interrupted, explain
from bisimulator.jobs._lock import Busy
from bisimulator.jobs._memory import release
from bisimulator.jobs.executors import FAILURES
from bisimulator.jobs.run import run
from bisimulator.jobs.seal import DONE
from bisimulator.jobs.spec import spec_from_dict

_PATIENCE = 1.0  # seconds to wait for a part that another command works on


class _Worker:
    def __init__(self, tasks: TextIO, reports: TextIO, memory: float):
        self._reports, self._memory, self._busy = reports, memory, False
        self._tasks: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(tasks,), daemon=True).start()

    def work(self) -> None:
        job = None
        while (task := self._tasks.get()) is not None:
            if job not in (None, task["job"]):  # parts of one job share their programs
                release(self._memory)
            job = task["job"]
            self._say("begun")
            self._busy = True
            self._run(task)
            self._busy = False

    def _read(self, tasks: TextIO) -> None:
        for line in tasks:
            self._tasks.put(json.loads(line))
        self._tasks.put(None)
        if self._busy:  # whoever gave the tasks has ended: nobody waits for this one
            os.kill(os.getpid(), signal.SIGINT)

    def _run(self, task: dict[str, Any]) -> None:
        try:
            if not (Path(task["job"]) / DONE).exists():  # by another command, meanwhile
                spec = spec_from_dict(task["spec"])
                run(
                    spec,
                    Path(task["out"]),
                    lambda p: self._say("progress", progress=dataclasses.asdict(p)),
                    patience=_PATIENCE,
                )
            self._say("finished")
        except Busy:
            self._say("busy")
        except FAILURES as error:
            self._say("failed", message=explain(error))
        except OSError as error:  # such as a full disk, which ends all jobs
            self._say("broken", os=[error.errno, error.strerror, error.filename], message=str(error))

    def _say(self, kind: str, **more: Any) -> None:
        self._reports.write(json.dumps({"kind": kind, **more}) + "\n")
        self._reports.flush()

    def warn(self, message: Warning | str, *where: object, **more: object) -> None:
        self._say("warning", message=str(message))


def main(memory: float) -> None:
    """Work until standard input ends, or a signal comes; above `memory` bytes compiled programs are dropped."""
    reports = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what others print must not come between the reports
    try:
        with noticing_stops():
            worker = _Worker(sys.stdin, reports, memory)
            warnings.showwarning = worker.warn
            worker.work()
    except (KeyboardInterrupt, Interrupted, BrokenPipeError):
        pass
    except Exception:
        traceback.print_exc()
        raise SystemExit(1) from None
