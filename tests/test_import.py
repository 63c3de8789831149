"""What holds in a process that has just imported the package."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, signal, sys
# set by hand, because a program that is started in the background begins with signals that are ignored
before = signal.default_int_handler
signal.signal(signal.SIGINT, before)
import gymnasium, bisimulator, bisimulator.exact
found = {"numba": "numba" in sys.modules, "signals": signal.getsignal(signal.SIGINT) is before}
found["env"] = str(gymnasium.make("bisimulator/Lending-v0", population=200).unwrapped.env)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found():
    """One process for all tests, because importing takes seconds."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_numba_is_not_imported(found):
    """Compilation does not slow down `import bisimulator`."""
    assert not found["numba"]


def test_the_signals_of_the_program_are_left_alone(found):
    """Only the command line ends at once; a notebook or a program gets its KeyboardInterrupt."""
    assert found["signals"]


def test_gymnasium_knows_the_ids(found):
    assert "population=200" in found["env"]
