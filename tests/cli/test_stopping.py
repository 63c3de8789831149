"""A command that is stopped at its very beginning ends without a traceback, whatever it is importing just then."""

import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seconds", [0.2, 0.4, 0.7, 1.0, 1.5, 2.0, 3.0])
def test_an_early_stop_is_not_swallowed(seconds, number, tmp_path):
    command = ["train", "lending", "ppo", "--steps", "100000000", "--out", str(tmp_path / "runs")]
    process = subprocess.Popen(
        [sys.executable, "-m", "bisimulator", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        time.sleep(seconds)
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 130
        assert b"Traceback" not in errors
    finally:
        process.kill()
        process.wait()


def test_a_stop_during_an_import_ends_the_process():
    program = (
        "import os, signal, sys; sys.argv = ['bisimulator']; from bisimulator._signals import while_importing\n"
        "with while_importing(): os.kill(os.getpid(), signal.SIGTERM)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (found.returncode, found.stderr) == (130, b"bisimulator: stopped\n")
