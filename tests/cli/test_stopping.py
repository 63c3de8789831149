"""A command that is stopped at its very beginning ends, whatever it is importing just then."""

import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seconds", [0.1, 0.4, 0.7, 1.0])
def test_an_early_stop_is_not_swallowed(seconds, number, tmp_path):
    command = ["train", "lending", "ppo", "--steps", "100000000", "--out", str(tmp_path / "runs")]
    process = subprocess.Popen(
        [sys.executable, "-m", "bisimulator", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(seconds)
        process.send_signal(number)
        assert process.wait(timeout=120) != 0
    finally:
        process.kill()
        process.wait()
