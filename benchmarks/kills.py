"""Does a run that is killed again and again end with the numbers of one that is left alone?

Run `python benchmarks/kills.py`. A quick reproduction is started, killed with SIGKILL at a random moment and started
again, 100 times by default; a store that is finished before is compared and the next one begun. In the end every file
of every job must be the same, bit for bit, as in an undisturbed run, and nothing unfinished may lie about.
Another command can be given after `--`, such as `-- compare college --methods dqn --steps 50000`.
"""

from __future__ import annotations

import argparse
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

COMMAND = (
    "reproduce --quick --scenario lending --methods ppo,ppo-bisimulator-reward,ppo-bisimulator,dqn,max-util"
)
# the command itself, with checkpoints and chunks as short as asked for, so that many kills find something new to break
_CHILD = """
import sys
from bisimulator.solvers import trainer
trainer.CHECKPOINT_SECONDS = trainer._SECONDS_PER_CHUNK = float(sys.argv[1])
from bisimulator.cli.app import main
sys.exit(main(sys.argv[2:]))
"""
_DIFFERS = "timing.json"  # says how long a job took


def start(command: list[str], out: Path, checkpoint_seconds: float) -> subprocess.Popen[bytes]:
    arguments = [sys.executable, "-c", _CHILD, str(checkpoint_seconds), *command, "--out", str(out)]
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


def live(command: list[str], out: Path, checkpoint_seconds: float, seconds: float, when: Callable) -> bool:
    """Start it and kill it some time after `when` holds; whether it was still there to be killed."""
    process, since = start(command, out, checkpoint_seconds), time.time()
    while process.poll() is None and not _holds(when, out, since):
        time.sleep(0.02)
    try:
        code = process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    if code:
        raise SystemExit(f"the command ended with code {code}")
    return False


def _holds(when: Callable, out: Path, since: float) -> bool:
    with suppress(FileNotFoundError):  # a file that is just being replaced
        return when(out, since)
    return False


def jobs(out: Path) -> dict[str, bytes]:
    """Every file of every job, but for the time it took."""
    folders = [config.parent for config in out.rglob("config.json")]
    return {
        str(path.relative_to(out)): path.read_bytes()
        for folder in folders
        for path in folder.iterdir()
        if path.name != _DIFFERS
    }


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
        ):
            killed, here = killed + 1, here + 1
            print(f"killed {killed} of {kills}, {time.monotonic() - began:.0f} s", flush=True)
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
