"""Does a run that is killed again and again end with the numbers of one that is left alone?

Run `python benchmarks/kills.py`. A quick reproduction is started, stopped at a random moment and started again, many
times: killed with SIGKILL, asked to stop with SIGTERM, by a full disk, or by a file that cannot be read. A store that
is finished before is compared and the next one begun. In the end every file of every job must be the same, bit for bit,
as in an undisturbed run, and nothing unfinished may lie about.
Only a killed process is replaced; the others start the command again themselves, with what they have compiled. One
signal in five hits a process of its own in its first seconds, while it imports.
Another command can be given after `--`, such as `-- compare college --methods dqn --steps 50000`.
"""

from __future__ import annotations

import argparse
import errno
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bisimulator.jobs import _checkpoint as checkpoint
from bisimulator.jobs._lock import is_held
from bisimulator.jobs.seal import DONE

# without worker processes, because faults are made to happen in the process of the command
COMMAND = (
    "reproduce --quick --scenario lending --methods ppo,ppo-bisimulator-reward,ppo-bisimulator,dqn,max-util "
    "--processes 1"
)
_DIFFERS = "timing.json"  # says how long a job took
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM}
# a call of the operating system that fails, with which error, and how many calls there may be before
FAULTS = {"disk full": (os, "fsync", errno.ENOSPC, 100), "read error": (Path, "read_bytes", errno.EIO, 10)}
STARTS, START_SECONDS = 0.2, 3.0  # share of the signals that come so early in the life of a process
STOPPED, FAILED = 130, 1  # exit codes
_CODES = {
    "SIGKILL": (-signal.SIGKILL,),
    "SIGTERM": (STOPPED, -signal.SIGTERM),
    "disk full": (FAILED,),
    "read error": (FAILED,),
}  # how each of them ends


@contextmanager
def failing(fault: str, after: int) -> Iterator[None]:
    """One call of the operating system fails."""
    if fault not in FAULTS:
        yield
        return
    place, name, number, _ = FAULTS[fault]
    function, calls = getattr(place, name), 0

    def call(first: Any, *others: Any, **keywords: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == after:
            raise OSError(number, os.strerror(number), str(first))
        return function(first, *others, **keywords)

    setattr(place, name, call)
    try:
        yield
    finally:
        setattr(place, name, function)


def _work(pipe: Connection, checkpoint_seconds: float) -> None:
    """Run the commands that come and send their exit codes back.

    Checkpoints and chunks are as short as asked for, so that many kills find something new to break. Whoever comes
    after a kill finds every program compiled.
    """
    from bisimulator.cli.app import main
    from bisimulator.jobs import run
    from bisimulator.solvers import trainer

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    trainer.CHECKPOINT_SECONDS = trainer._SECONDS_PER_CHUNK = checkpoint_seconds
    run._SECONDS_WORTH_CACHING = 0.0
    with suppress(EOFError):
        while True:
            command, fault, after = pipe.recv()
            with failing(fault, after):
                code = main(command)
            pipe.send(code)


class Worker:
    """A process that runs the command as often as it is told to, and is replaced where it has died.

    All of them are forks of one that has imported the package and done nothing with it.
    """

    def __init__(self, command: list[str], checkpoint_seconds: float):
        self.command, self._seconds = command, checkpoint_seconds
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["bisimulator.cli.app", "bisimulator.api"])
        self._start()

    def _start(self) -> None:
        self._pipe, other = self._context.Pipe()
        self._process = self._context.Process(target=_work, args=(other, self._seconds), daemon=True)
        self._process.start()
        other.close()

    def close(self) -> None:
        self._pipe.close()
        self._process.join()

    def begin(self, out: Path, fault: str = "", after: int = 0) -> None:
        self._pipe.send(([*self.command, "--out", str(out)], fault, after))

    def ends(self, within: float) -> bool:
        return self._pipe.poll(within)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self._process.pid, number)  # type: ignore[arg-type]

    def code(self) -> int:
        """How the command ended; whoever died of it is replaced."""
        try:
            return int(self._pipe.recv())
        except (EOFError, ConnectionResetError):
            return self.replace()

    def replace(self) -> int:
        self._pipe.close()
        self._process.join()
        code = self._process.exitcode
        self._start()
        return code or 0


def finish(worker: Worker, out: Path) -> None:
    worker.begin(out)
    if code := worker.code():
        raise SystemExit(f"the command ended with code {code}")


def at_work(out: Path, since: float) -> bool:
    """A job is held, so there is something to break."""
    return any(is_held(config.parent) for config in out.rglob("config.json"))


def in_training(out: Path, since: float) -> bool:
    """A checkpoint was written since then."""
    return any(path.stat().st_mtime > since for path in out.rglob(checkpoint.NAME))


def live(
    worker: Worker, out: Path, seconds: float, when: Callable, how: str = "SIGKILL", after: int = 0
) -> bool:
    """Start it and stop it some time after `when` holds, or by a fault; whether it was stopped before it was done."""
    since, sent = time.time(), False
    worker.begin(out, how, after)
    if how in SIGNALS:
        while not worker.ends(within=0.02) and not _holds(when, out, since):
            pass
        if sent := not worker.ends(within=seconds):
            worker.signal(SIGNALS[how])
    code = worker.code()
    check(how, code)
    if sent and code == 0:  # the signal came too late for the command, not for the process
        worker.replace()
    return code != 0


def check(how: str, code: int) -> None:
    if code not in (0, *_CODES[how]):
        raise SystemExit(f"after {how} the command ended with code {code}")


def start(command: list[str], out: Path, seconds: float, how: str) -> bool:
    """Start a process and stop it so many seconds later; whether it was stopped before it was done."""
    run = [sys.executable, "-m", "bisimulator", *command, "--out", str(out)]
    with subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            _, told = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(SIGNALS[how])
            _, told = process.communicate()
    check(how, process.returncode)
    if "Traceback" in told:
        raise SystemExit(f"after {how} the command ended with a traceback:\n{told}")
    return process.returncode != 0


def _holds(when: Callable, out: Path, since: float) -> bool:
    with suppress(FileNotFoundError):  # a file that is just being replaced
        return when(out, since)
    return False


def jobs(out: Path) -> dict[str, bytes]:
    """Every file of every job, but for the time it took."""
    folders = [config.parent for config in out.rglob("config.json")]
    return {
        str(path.relative_to(out)): _without_times(path)
        for folder in folders
        for path in folder.iterdir()
        if path.name != _DIFFERS
    }


def _without_times(path: Path) -> bytes:
    """A file's content; of a seal, all but the checksum of the time it took."""
    if path.name != DONE:
        return path.read_bytes()
    seal = json.loads(path.read_bytes())
    del seal["sha256"][_DIFFERS]
    return json.dumps(seal).encode()


def compare(found: dict[str, bytes], expected: dict[str, bytes]) -> None:
    if not expected or not any(name.endswith("done") for name in expected):
        raise SystemExit("the undisturbed run left no finished job to compare with")
    extra, missing = found.keys() - expected.keys(), expected.keys() - found.keys()
    differing = sorted(name for name in found.keys() & expected.keys() if found[name] != expected[name])
    if extra or missing or differing:
        raise SystemExit(f"different: {differing}; not there: {sorted(missing)}; too many: {sorted(extra)}")


def stop(worker: Worker, store: Path, within: float, chance: random.Random) -> str:
    """Start the command and stop it at a random moment; how, or nothing if it was done before."""
    how = chance.choice([*SIGNALS, *FAULTS])
    if how in SIGNALS and chance.random() < STARTS:
        early = start(worker.command, store, chance.uniform(0, START_SECONDS), how)
        return f"{how} at the start" if early else ""
    stopped = live(
        worker,
        store,
        seconds=chance.uniform(0, within),
        when=chance.choice([at_work, in_training]),
        how=how,
        after=chance.randint(1, FAULTS[how][-1]) if how in FAULTS else 0,
    )
    return how if stopped else ""


def main(
    command: list[str], kills: int, within: float, checkpoint_seconds: float, seed: int, out: Path
) -> int:
    """How many stores were finished; raises where one differs."""
    chance, began = random.Random(seed), time.monotonic()
    worker = Worker(command, checkpoint_seconds)
    finish(worker, out / "undisturbed")
    expected = jobs(out / "undisturbed")
    print(f"undisturbed: {time.monotonic() - began:.0f} s, {len(expected)} files", flush=True)
    killed = stores = 0
    while killed < kills:
        store, here = out / f"disturbed-{stores}", 0
        while killed < kills and (how := stop(worker, store, within, chance)):
            killed, here = killed + 1, here + 1
            print(f"stopped {killed} of {kills} by {how}, {time.monotonic() - began:.0f} s", flush=True)
        finish(worker, store)
        compare(jobs(store), expected)
        shutil.rmtree(store)
        stores += 1
        print(f"store {stores}: the same after {here} kills", flush=True)
    worker.close()
    return stores


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument(
        "--within", type=float, default=5.0, help="seconds from the beginning of work to the kill"
    )
    parser.add_argument("--checkpoint-seconds", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("command", nargs="*", default=COMMAND.split())
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        done = main(
            options.command,
            options.kills,
            options.within,
            options.checkpoint_seconds,
            options.seed,
            Path(folder),
        )
    print(f"{options.kills} kills in {done} stores: all files of all jobs are the same, bit for bit")
