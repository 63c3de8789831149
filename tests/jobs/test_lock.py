"""One process a job: the others wait, take its result, or go on elsewhere; a killed holder holds nothing."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from bisimulator.jobs import _lock as locking
from bisimulator.jobs import run as jobs
from tests.jobs.test_run import assert_same, rule

HOLDER = """
import sys, time
from pathlib import Path
import importlib.util
spec = importlib.util.spec_from_file_location("locking", sys.argv[2])
locking = importlib.util.module_from_spec(spec); spec.loader.exec_module(locking)
with locking.only_one(Path(sys.argv[1]), 0):
    print("held", flush=True)
    time.sleep(100)
"""


@pytest.fixture
def held(tmp_path):
    """A folder that another process holds."""
    folder = tmp_path / "job"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder), locking.__file__], stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == b"held\n"
    yield folder, process
    process.kill()
    process.communicate()


def test_what_another_process_holds_is_busy(held):
    folder, _ = held
    assert locking.is_held(folder)
    with pytest.raises(locking.Busy, match="another process works on"), locking.only_one(folder, patience=0):
        pytest.fail("held twice")
    began = time.monotonic()
    with pytest.raises(locking.Busy), locking.only_one(folder, patience=0.2):
        pytest.fail("held twice")
    assert time.monotonic() - began >= 0.2


def test_a_killed_holder_holds_nothing(held):
    folder, process = held
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert (folder / locking.NAME).exists()
    assert not locking.is_held(folder)
    with locking.only_one(folder, patience=0):
        assert locking.is_held(folder)
    assert not (folder / locking.NAME).exists()


def test_who_waits_gets_it_when_it_is_free(held):
    folder, process = held
    threading.Timer(0.3, process.kill).start()
    with locking.only_one(folder, patience=60):
        assert process.wait() != 0


def test_a_folder_nobody_holds_is_free(tmp_path):
    assert not locking.is_held(tmp_path)
    assert not locking.is_held(tmp_path / "missing")


def test_threads_exclude_each_other_however_often_the_file_comes_and_goes(tmp_path):
    inside, most = [0], [0]

    def enter():
        for _ in range(50):
            with locking.only_one(tmp_path, patience=60):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(locking, "_SECONDS_BETWEEN_TRIES", 1e-4)
        threads = [threading.Thread(target=enter) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert most == [1]


def test_a_job_at_work_elsewhere_is_busy_or_waited_for(tmp_path):
    folder = tmp_path / rule().name
    release, ready = threading.Event(), threading.Event()

    def other():
        with locking.only_one(folder, patience=0):
            ready.set()
            release.wait()

    thread = threading.Thread(target=other)
    thread.start()
    ready.wait()
    with pytest.raises(jobs.Busy):
        jobs.run(rule(), tmp_path, patience=0)
    threading.Timer(0.2, release.set).start()
    with pytest.warns(UserWarning, match="another process works on .* waiting for its result"):
        waited = jobs.run(rule(), tmp_path)
    thread.join()
    assert_same(waited, jobs.load(folder))


def test_a_result_that_came_while_waiting_is_taken(tmp_path, monkeypatch):
    expected = jobs.run(rule(), tmp_path)
    monkeypatch.setattr(jobs, "run_episodes", lambda *args: pytest.fail("computed again"))
    load, first = jobs.load, iter([True])  # as if it was not there yet at the first look
    monkeypatch.setattr(jobs, "load", lambda *args: None if next(first, False) else load(*args))
    assert_same(jobs.run(rule(), tmp_path), expected)
