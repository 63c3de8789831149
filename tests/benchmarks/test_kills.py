"""A run that is killed at random ends with the numbers of an undisturbed one; so does the script that shows it."""

import pytest

from benchmarks import kills
from tests.small import SET, SOLVER_OPTIONS, on_command_line

# 100 updates, each with a checkpoint: a second of work to be stopped in
COMMAND = "train lending ppo --seeds 2 --steps 800 --episodes 1 --curve-every 200 --curve-episodes 1"


# tests/jobs/test_run.py has the quick ones, which stop a job at chosen moments
@pytest.mark.long
def test_killed_and_resumed_it_ends_the_same(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
    command = [*COMMAND.split(), *SET, *on_command_line(SOLVER_OPTIONS, prefix="solver.")]
    kills.main(command, kills=200, within=0.5, checkpoint_seconds=0.0, seed=3, out=tmp_path / "out")
    told = capfd.readouterr().out
    assert "stopped 200 of 200" in told
    for how in (*kills.SIGNALS, *kills.FAULTS):
        assert f"by {how}," in told
    for how in kills.SIGNALS:
        assert f"by {how} at the start," in told


@pytest.mark.parametrize("how", kills.SIGNALS)
def test_a_process_is_stopped_while_it_imports(how, tmp_path):
    assert kills.start(["list"], tmp_path, seconds=0.2, how=how)


def test_a_process_that_ends_in_another_way_is_reported(tmp_path):
    with pytest.raises(SystemExit, match="after SIGTERM the command ended with code 2"):
        kills.start(["no-such-command"], tmp_path, seconds=60.0, how="SIGTERM")


def test_what_differs_is_named():
    expected = {"a/done": b"", "a/outcome.npz": b"1", "a/curves.npz": b"2"}
    kills.compare(dict(expected), expected)
    with pytest.raises(SystemExit, match=r"different: \['a/outcome.npz'\]"):
        kills.compare(expected | {"a/outcome.npz": b"2"}, expected)
    with pytest.raises(SystemExit, match=r"not there: \['a/curves.npz'\]; too many: \['a/.lock'\]"):
        kills.compare({"a/done": b"", "a/outcome.npz": b"1", "a/.lock": b""}, expected)
    with pytest.raises(SystemExit, match="no finished job to compare with"):
        kills.compare({}, {})
