"""Jobs in worker processes: the same results, also when a worker is killed, and nothing that outlives the command."""

import errno
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from bisimulator.jobs import _processes, executors
from bisimulator.jobs._checkpoint import NAME as CHECKPOINT
from bisimulator.jobs.parts import Part
from bisimulator.jobs.run import run
from tests.jobs.test_run import assert_same, learned, rule


def test_results_are_those_of_one_process_also_if_a_worker_is_killed(tmp_path, monkeypatch):
    started, told = [], []
    popen = subprocess.Popen

    def watched(*args, **keywords):
        started.append(popen(*args, **keywords))
        return started[-1]

    monkeypatch.setattr(_processes.subprocess, "Popen", watched)

    def tell(event):
        told.append(event.kind)
        if told.count("started") == 1 and event.kind == "started":
            started[0].kill()

    specs = [learned(seeds=2), rule()]
    results = executors.run_locally(specs, tmp_path / "processes", tell, processes=2)
    for result, spec in zip(results, specs, strict=True):
        assert_same(result, run(spec, tmp_path / "here"))
    assert told.count("retried") == 1
    assert len(started) == 3
    assert all(process.poll() is not None for process in started)
    assert not list((tmp_path / "processes").rglob("parts"))


def processes_of_session(out):
    """Processes whose command line or environment names this folder."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/environ", "rb") as environment:
                    if f"OUT_OF_TEST={out}".encode() in environment.read():
                        found.append(int(entry))
            except OSError:
                continue
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, pytest.param(signal.SIGKILL, marks=pytest.mark.long)])
def test_nothing_outlives_a_command_that_is_stopped(tmp_path, how):
    command = "train lending ppo --seeds 2 --steps 90000 --curve-every 0 --processes 2 --solver.epochs 300"
    with subprocess.Popen(
        [sys.executable, "-m", "bisimulator", *command.split(), "--out", str(tmp_path)],
        env={**os.environ, "OUT_OF_TEST": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until = time.monotonic() + 120
        while not list(tmp_path.rglob(CHECKPOINT)) and time.monotonic() < until:
            time.sleep(0.1)
        assert list(tmp_path.rglob(CHECKPOINT))
        process.send_signal(how)
        _, said = process.communicate(timeout=60)
    until = time.monotonic() + 60  # whoever was killed could not stop its workers: they notice
    while processes_of_session(tmp_path) and time.monotonic() < until:
        time.sleep(0.1)
    assert processes_of_session(tmp_path) == []
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert said.splitlines()[-1] == (
            "bisimulator: stopped with 1 of 1 jobs left; run the same command again to resume"
        )
        assert "Traceback" not in said


def part(job, index=0):
    return Part(job, index, None, None, None)


def test_who_is_free_goes_on_with_what_is_compiled_then_takes_what_nobody_is_at():
    waiting = [part(0, 1), part(1, 0), part(2, 0), part(2, 1), part(2, 2)]
    assert _processes.choose(waiting, last_job=2, others={0}) == part(2, 0)
    assert _processes.choose(waiting, last_job=None, others={0}) == part(1, 0)
    assert _processes.choose(waiting, last_job=None, others=set()) == part(0, 1)
    assert _processes.choose(waiting, last_job=7, others={0, 1, 2}) == part(2, 0)  # most is left of it


def test_a_full_disk_ends_all_jobs(tmp_path):
    workers = _processes.Processes(1)
    process = SimpleNamespace(part=part(0), trains=False)
    workers._running = [process]
    message = {"kind": "broken", "os": [errno.ENOSPC, "No space left on device", "x.npz"], "message": ""}
    with pytest.raises(OSError, match=r"No space left on device: 'x.npz'"):
        list(workers._read(process, message))


def test_warnings_of_a_worker_are_ours(tmp_path):
    workers = _processes.Processes(1)
    with pytest.warns(UserWarning, match="set aside"):
        list(workers._read(SimpleNamespace(part=None), {"kind": "warning", "message": "set aside"}))
