"""Does a run that is killed again and again end with the numbers of one that is left alone?

Run `python benchmarks/kills.py`. A quick reproduction is started, stopped at a random moment and started again, many
times: killed with SIGKILL, asked to stop with SIGTERM, by a full disk, or by a file that cannot be read. A store that
is finished before is compared and the next one begun. In the end every file of every job must be the same, bit for bit,
as in an undisturbed run, and nothing unfinished may lie about.
Another command can be given after `--`, such as `-- compare college --methods dqn --steps 50000`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bisimulator.jobs import _checkpoint as checkpoint
from bisimulator.jobs._lock import is_held
from bisimulator.jobs.seal import DONE

COMMAND = (
    "reproduce --quick --scenario lending --methods ppo,ppo-bisimulator-reward,ppo-bisimulator,dqn,max-util"
)
# the command itself, with checkpoints and chunks as short as asked for, so that many kills find something new to break,
# and with one call of the operating system that fails
_CHILD = """
import errno, os, sys
from pathlib import Path
seconds, fault, after = float(sys.argv[1]), sys.argv[2], int(sys.argv[3])
calls = 0

def failing(function, number):
    def call(first, *others, **keywords):
        global calls
        calls += 1
        if calls == after:
            raise OSError(number, os.strerror(number), str(first))
        return function(first, *others, **keywords)
    return call

if fault == "disk full":
    os.fsync = failing(os.fsync, errno.ENOSPC)
if fault == "read error":
    Path.read_bytes = failing(Path.read_bytes, errno.EIO)
from bisimulator.solvers import trainer
trainer.CHECKPOINT_SECONDS = trainer._SECONDS_PER_CHUNK = seconds
from bisimulator.cli.app import main
sys.exit(main(sys.argv[4:]))
"""
_DIFFERS = "timing.json"  # says how long a job took
SIGNALS = {"SIGKILL": signal.SIGKILL, "SIGTERM": signal.SIGTERM}
FAULTS = ("disk full", "read error")
_CODES = {
    "SIGKILL": (-9,),
    "SIGTERM": (130, -15),
    "disk full": (1,),
    "read error": (1,),
}  # how each of them ends
_MAX_CALLS = 40  # of which one fails


def start(
    command: list[str], out: Path, checkpoint_seconds: float, fault: str = "", after: int = 0
) -> subprocess.Popen[bytes]:
    options = [str(checkpoint_seconds), fault, str(after)]
    arguments = [sys.executable, "-c", _CHILD, *options, *command, "--out", str(out)]
    return subprocess.Popen(arguments, stdout=subprocess.DEVNULL, start_new_session=True)


def finish(command: list[str], out: Path, checkpoint_seconds: float) -> None:
    code = start(command, out, checkpoint_seconds).wait()
    if code:
        raise SystemExit(f"the command ended with code {code}")


def at_work(out: Path, since: float) -> bool:
    """A job is held, so there is something to break."""
    return any(is_held(config.parent) for config in out.rglob("config.json"))


def in_training(out: Path, since: float) -> bool:
    """A checkpoint was written since then."""
    return any(path.stat().st_mtime > since for path in out.rglob(checkpoint.NAME))


def live(
    command: list[str],
    out: Path,
    checkpoint_seconds: float,
    seconds: float,
    when: Callable,
    how: str = "SIGKILL",
    after: int = 0,
) -> bool:
    """Start it and stop it some time after `when` holds, or by a fault; whether it was stopped before it was done."""
    process, since = start(command, out, checkpoint_seconds, how if how in FAULTS else "", after), time.time()
    if how in SIGNALS:
        while process.poll() is None and not _holds(when, out, since):
            time.sleep(0.02)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=seconds)
        if process.poll() is None:
            os.killpg(process.pid, SIGNALS[how])
    code = process.wait()
    if code not in (0, *_CODES[how]):
        raise SystemExit(f"after {how} the command ended with code {code}")
    return code != 0


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


def main(
    command: list[str], kills: int, within: float, checkpoint_seconds: float, seed: int, out: Path
) -> int:
    """How many stores were finished; raises where one differs."""
    chance, began = random.Random(seed), time.monotonic()
    finish(command, out / "undisturbed", checkpoint_seconds)
    expected = jobs(out / "undisturbed")
    print(f"undisturbed: {time.monotonic() - began:.0f} s, {len(expected)} files", flush=True)
    killed = stores = 0
    while killed < kills:
        store, here = out / f"disturbed-{stores}", 0
        while killed < kills and live(
            command,
            store,
            checkpoint_seconds,
            seconds=chance.uniform(0, within),
            when=chance.choice([at_work, in_training]),
            how=(how := chance.choice([*SIGNALS, *FAULTS])),
            after=chance.randint(1, _MAX_CALLS),
        ):
            killed, here = killed + 1, here + 1
            print(f"stopped {killed} of {kills} by {how}, {time.monotonic() - began:.0f} s", flush=True)
        finish(command, store, checkpoint_seconds)
        compare(jobs(store), expected)
        shutil.rmtree(store)
        stores += 1
        print(f"store {stores}: the same after {here} kills", flush=True)
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
