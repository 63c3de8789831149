"""`bisimulator reproduce` on the command line, for people and for machines."""

import json
import os
import signal

import numpy as np
import pytest

from bisimulator import published
from bisimulator.cli import app as cli
from bisimulator.jobs import executors
from bisimulator.jobs import tensorboard as tracking
from bisimulator.jobs.store import find_runs, load
from bisimulator.report import write
from bisimulator.report._job_states import JobStates
from bisimulator.solvers import trainer

FAST = ["--seeds", "2", "--steps", "1024", "--episodes", "1", "--curve-episodes", "1", "--curve-every", "512"]
COMMAND = ["reproduce", "--scenario", "college", "--methods", "ppo,accept-all", *FAST]


@pytest.fixture(autouse=True, scope="module")
def without_report():
    """Writing tables, figures and the page takes most of the time and is tested elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "160")
        page = lambda results, out, references, points=None: [out / "report.html"]  # noqa: E731
        patch.setattr(write, "write_report", page)
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    assert cli.main([*COMMAND, "--out", str(out)]) == 0
    return out


def test_elsewhere_than_on_a_terminal_there_is_one_line_per_job_and_a_summary(store, capsys):
    assert cli.main([*COMMAND, "--out", str(store)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[1/2] college ppo (finished before): return ")
    assert "(193.9±6.5)" in lines[0]  # the published return
    assert lines[1].startswith("[2/2] college accept-all (finished before): return ")
    assert lines[2].startswith("2 jobs, ")
    assert "Of the paper's 186 numbers" in lines[2]
    assert lines[3:] == [f"Written: {store}/report.html"]


def test_for_machines_there_is_one_json_object_per_line(store, capsys):
    assert cli.main([*COMMAND, "--out", str(store), "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in events] == ["kept", "kept", "report"]
    ended = events[0]
    assert (ended["scenario"], ended["method"], ended["seeds"]) == ("college", "ppo", [0, 1])
    assert (store / ended["folder"] / "done").exists()
    expected = load(store / ended["folder"]).summary["recall_gap"]
    assert ended["summary"]["recall_gap"] == pytest.approx({"mean": expected[0], "ci95": expected[1]})
    assert events[-1]["files"] == [str(store / "report.html")]


def test_ctrl_c_gives_130_and_the_second_start_ends_with_the_same_numbers(
    store, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", 0.0)
    update, pressed = JobStates.update, []

    def press(states, event):
        if event.kind == "progress" and not pressed:
            pressed.append(event.progress.update)
            os.kill(os.getpid(), signal.SIGINT)
        return update(states, event)

    command = [*COMMAND, "--out", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr(JobStates, "update", press)
        assert cli.main(command) == 130
    assert "stopped after 1 of 2 updates" in capsys.readouterr().err
    (folder,) = (tmp_path / "college").iterdir()
    assert (folder / "checkpoint.npz").exists()
    assert cli.main(command) == 0
    for name in ("weights.npz", "episodes.csv", "curves.npz", "outcome.npz"):
        undisturbed = store / "college" / folder.name / name
        assert (folder / name).read_bytes() == undisturbed.read_bytes()


def test_a_job_that_fails_does_not_stop_the_others_and_the_exit_code_is_3(tmp_path, capsys, monkeypatch):
    run, asked = executors.run, []

    def spoiled(spec, *args, **keywords):
        asked.append(spec.method)
        if spec.method == "ppo":
            raise FloatingPointError("update 3: the loss became NaN or infinite")
        return run(spec, *args, **keywords)

    monkeypatch.setattr(executors, "run", spoiled)
    assert cli.main([*COMMAND, "--out", str(tmp_path)]) == 3
    shown = capsys.readouterr()
    assert asked == ["ppo", "accept-all"]
    assert "1 of 2 jobs failed: college ppo: update 3: the loss became NaN or infinite" in shown.err
    assert "[1/2] college ppo: failed, update 3: the loss became NaN or infinite" in shown.out
    assert "1 jobs, " in shown.out
    assert f"Written: {tmp_path}/report.html" in shown.out


def test_if_all_jobs_fail_there_is_no_report(tmp_path, capsys, monkeypatch):
    def fail(*args, **keywords):
        raise ValueError("nothing works")

    monkeypatch.setattr(executors, "run", fail)
    assert cli.main([*COMMAND, "--out", str(tmp_path)]) == 3
    shown = capsys.readouterr()
    assert "2 of 2 jobs failed" in shown.err
    assert "Written" not in shown.out


def test_a_full_disk_is_a_message_and_exit_code_1(tmp_path, capsys, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert cli.main([*COMMAND, "--out", str(tmp_path)]) == 1
    message = capsys.readouterr().err
    assert "the disk is full" in message
    assert "Traceback" not in message


def test_it_can_be_followed_in_tensorboard(store, monkeypatch):
    heard = []

    class Watched(tracking.TensorBoard):
        def __call__(self, event):
            heard.append(event.kind)
            super().__call__(event)

    monkeypatch.setattr(tracking, "TensorBoard", Watched)
    assert cli.main([*COMMAND, "--out", str(store), "--track", "tensorboard"]) == 0
    assert heard == ["kept"] * 2
    (folder,) = (store / "college").glob("ppo-*")
    assert list((store / "tensorboard" / "college" / folder.name).glob("events.*"))


def test_another_paper_is_compared_with_its_own_numbers(tmp_path, capsys):
    command = ["reproduce", "--paper", "damour", "--scenario", "infectious", "--methods", "nobody"]
    assert cli.main([*command, "--seeds", "2", "--episodes", "3", "--out", str(tmp_path), "--json"]) == 0
    *_, ended, report = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (ended["method"], ended["seeds"]) == ("nobody", [0, 1])
    (result,) = find_runs(tmp_path)
    assert result.spec.settings["recovery"] == 0.5
    assert result.spec.episodes == 3
    counts = {name: report[name] for name in ("matched", "beaten", "missed", "not_run")}
    assert counts["matched"] + counts["missed"] == 1
    assert sum(counts.values()) == len(published.points("damour"))


WRONG = [
    (["--paper", "elbrt"], ["Unknown paper 'elbrt'", "'elbert'"]),
    (["--methods", "pop"], ["Unknown method 'pop'"]),
    (["--scenario", "colege"], ["Unknown environment 'colege'", "'college'"]),
    (["--seeds", "0"], ["--seeds must be at least 1, got 0"]),
    (["--ray-address", "auto"], ["--ray-address auto needs --executor ray"]),
    (["--curve-every", "-1"], ["--curve-every must be at least 0, got -1"]),
    (["--scenario", "lending-us-2003"], ["there is nothing to run"]),
]


@pytest.mark.parametrize(("arguments", "parts"), WRONG)
def test_wrong_input_is_explained_with_exit_code_2(arguments, parts, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["reproduce", *arguments]) == 2
    message = capsys.readouterr().err
    for part in parts:
        assert part in message
    assert not list(tmp_path.iterdir())


def test_learning_curves_are_stored_for_the_report(store):
    result = load(next((store / "college").glob("ppo-*")))
    assert result.curves.steps.tolist() == [512, 1024]
    assert np.isfinite(result.curves.values["average_return"]).all()
