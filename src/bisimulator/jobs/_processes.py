"""Worker processes on this machine, one per core.

A training is one compiled loop of small steps, which keeps one core busy. Two of them in threads of one process wait
for each other's tasks in XLA's thread pool; in processes with a pool of one thread they do not, and what they compute
does not depend on how many cores there are.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from bisimulator.jobs._memory import PLENTY
from bisimulator.jobs.dispatcher import Report, progress_from_dict
from bisimulator.jobs.parts import Part

_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_TO_STOP = 30.0
_COMMAND = "from bisimulator.jobs._worker import main; main({memory})"


@contextmanager
def worker_processes(count: int) -> Iterator[Processes]:
    """At most `count` processes, started when there is work for them."""
    processes = Processes(count)
    try:
        yield processes
    finally:
        processes.close()


class Processes:
    """`dispatcher.Workers`."""

    def __init__(self, count: int):
        self._count, self._memory = count, PLENTY / count
        self._waiting: list[Part] = []
        self._running: list[_Process] = []
        self._inbox: queue.SimpleQueue[tuple[_Process, dict[str, Any]]] = queue.SimpleQueue()

    def submit(self, part: Part) -> None:
        self._waiting.append(part)

    def reports(self) -> Iterator[Report]:
        self._assign()
        with suppress(queue.Empty):
            yield from self._read(*self._inbox.get(timeout=_SECONDS_BETWEEN_LOOKS))
            while True:
                yield from self._read(*self._inbox.get_nowait())

    def cancel(self, parts: Collection[Part]) -> None:
        self._waiting = [part for part in self._waiting if part not in parts]
        self._end([process for process in self._running if process.part in parts])

    def close(self) -> None:
        self._end(list(self._running))

    def _assign(self) -> None:
        """Give work to whoever has none, and start processes while there is more of it."""
        while self._waiting:
            idle = next((process for process in self._running if process.part is None), None)
            if idle is None:
                if len(self._running) == self._count:
                    return
                idle = _Process(self._inbox, self._memory)
                self._running.append(idle)
            others = {process.part.job for process in self._running if process.part is not None}
            part = choose(self._waiting, idle.last_job, others)
            self._waiting.remove(part)
            idle.give(part)

    def _read(self, process: _Process, message: Mapping[str, Any]) -> Iterator[Report]:
        part, kind = process.part, message["kind"]
        if kind == "died" and process in self._running:
            self._running.remove(process)
            process.stop()
        elif kind == "warning":
            warnings.warn(message["message"], stacklevel=2)
            return
        elif process not in self._running:  # it was stopped
            return
        if part is None:
            return
        if kind == "broken":
            number, text, name = message["os"]
            raise OSError(number, text, name) if number else OSError(message["message"])
        progress = message.get("progress")
        if progress is not None:
            progress, process.trains = progress_from_dict(progress), True
        elif kind != "begun":
            process.part = None
        yield Report(part, kind, progress, message.get("message", ""))

    def _end(self, processes: Sequence[_Process]) -> None:
        for process in processes:
            self._running.remove(process)
            process.stop()
        for process in processes:
            process.wait()


def choose(waiting: Sequence[Part], last_job: int | None, others: Collection[int]) -> Part:
    """A part of the job whose programs are compiled; else of a job that nobody is at; else where most is left."""
    left = Counter(part.job for part in waiting)

    def preference(part: Part) -> tuple[bool, bool, int]:
        shared = part.job in others
        return part.job != last_job, shared, -left[part.job] if shared else 0

    return min(waiting, key=preference)


class _Process:
    """One worker (`jobs._worker`), and a thread that reads what it says."""

    def __init__(self, inbox: queue.SimpleQueue[tuple[_Process, dict[str, Any]]], memory: float):
        self.part: Part | None = None
        self.last_job: int | None = None
        self.trains = False  # whether there is something to save
        self._inbox = inbox
        path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _COMMAND.format(memory=memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "NPROC": "1", "PYTHONPATH": path},  # NPROC: the threads of XLA's pool
            start_new_session=True,  # Ctrl-C reaches it through us
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def give(self, part: Part) -> None:
        assert self._process.stdin is not None
        self.part, self.last_job, self.trains = part, part.job, False
        task = {"spec": part.spec.to_dict(), "out": str(part.out), "job": str(part.job_folder)}
        with suppress(BrokenPipeError):  # it died, which `_listen` reports
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()

    def stop(self) -> None:
        """Whoever trains notices that no more tasks come and writes a checkpoint; before, nothing is to be saved."""
        if self.part is not None and not self.trains:
            self._process.kill()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def wait(self) -> None:
        try:
            self._process.wait(_SECONDS_TO_STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines, suppress(ValueError):  # a line that was cut off by a kill
            for line in lines:
                self._inbox.put((self, json.loads(line)))
        code = self._process.wait()
        self._inbox.put((self, {"kind": "died", "message": f"exit code {code}"}))
