"""A run that is killed at random ends with the numbers of an undisturbed one; so does the script that shows it."""

import pytest

from benchmarks import kills

COMMAND = (
    "compare lending --methods ppo --seeds 1 --steps 15360 --episodes 1 --curve-every 5120 --curve-episodes 1"
)
SMALL = "--set population=30 horizon=100"


# tests/jobs/test_run.py has the quick ones, which stop a job at chosen moments
@pytest.mark.long
def test_killed_and_resumed_it_ends_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    command = [*COMMAND.split(), *SMALL.split()]
    kills.main(command, kills=200, within=0.5, checkpoint_seconds=0.0, seed=3, out=tmp_path / "out")
    assert "the same after" in capsys.readouterr().out


def test_what_differs_is_named():
    expected = {"a/done": b"", "a/outcome.npz": b"1", "a/curves.npz": b"2"}
    kills.compare(dict(expected), expected)
    with pytest.raises(SystemExit, match=r"different: \['a/outcome.npz'\]"):
        kills.compare(expected | {"a/outcome.npz": b"2"}, expected)
    with pytest.raises(SystemExit, match=r"not there: \['a/curves.npz'\]; too many: \['a/.lock'\]"):
        kills.compare({"a/done": b"", "a/outcome.npz": b"1", "a/.lock": b""}, expected)
    with pytest.raises(SystemExit, match="no finished job to compare with"):
        kills.compare({}, {})
