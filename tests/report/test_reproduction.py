"""`bisimulator reproduce` as a person and as a machine meet it."""

import io
import json
import os
import signal

import numpy as np
import pytest
from rich.console import Console

from bisimulator.cli import app as cli
from bisimulator.jobs import executors
from bisimulator.jobs import run as jobs
from bisimulator.jobs import tensorboard as tracking
from bisimulator.jobs.executors import Event
from bisimulator.jobs.paper import paper_jobs
from bisimulator.report import progress as live
from bisimulator.report import reproduction
from bisimulator.report._job_states import Board
from bisimulator.solvers import trainer
from tests.report.test_job_states import HALF

FAST = ["--seeds", "2", "--steps", "1024", "--episodes", "1", "--curve-episodes", "1", "--curve-every", "512"]
COMMAND = ["reproduce", "--scenario", "college", "--methods", "ppo,accept-all", *FAST]


@pytest.fixture(autouse=True, scope="module")
def without_pages():
    """No pages and figures but where asked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "160")
        patch.setattr(reproduction, "write_report", lambda results, out: [out / "report.html"])
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    assert cli.main([*COMMAND, "--out", str(out)]) == 0
    return out


def test_elsewhere_than_on_a_terminal_there_is_a_line_a_job_and_a_summary(store, capsys):
    assert cli.main([*COMMAND, "--out", str(store)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[1/2] college ppo (kept): return ")
    assert "(193.9±6.5)" in lines[0]  # the published return
    assert lines[1].startswith("[2/2] college accept-all (kept): return ")
    assert lines[3].startswith("2 jobs, ")
    assert "Of the paper's 186 numbers" in lines[3]
    assert lines[4] == f"Written: {store}/report.html; the jobs are kept in {store}"


def test_for_machines_there_is_one_json_object_a_line(store, capsys):
    assert cli.main([*COMMAND, "--out", str(store), "--json"]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [t["event"] for t in told] == ["kept", "kept", "report"]
    ended = told[0]
    assert (ended["scenario"], ended["method"], ended["seeds"]) == ("college", "ppo", [0, 1])
    assert (store / ended["folder"] / "done").exists()
    expected = jobs.load(store / ended["folder"]).summary["recall_gap"]
    assert ended["summary"]["recall_gap"] == pytest.approx({"mean": expected[0], "ci95": expected[1]})
    assert told[-1]["files"] == [str(store / "report.html")]


def test_progress_is_told_to_machines_and_numbers_that_are_none_are_null():
    board, text = Board(paper_jobs(["college"], ["ppo"], seeds=1)), io.StringIO()
    with live.view(board, Console(file=text), as_json=True) as tell:
        tell(Event(0, "started"))
        tell(Event(0, "progress", progress=HALF.__class__(5, 10, 500, 1000.0, float("nan"), (0.5,), 0.1)))
    told = [json.loads(line) for line in text.getvalue().splitlines()]
    assert told[1]["progress"]["episode_return"] is None
    assert (told[1]["progress"]["steps"], told[1]["share"]) == (500, 0.5)


def test_on_a_terminal_jobs_move_and_finished_rows_stay(store):
    specs = paper_jobs(["college"], ["ppo", "accept-all", "dqn", "threshold", "eo"], seeds=2)
    board = Board(specs)
    board.take(Event(0, "progress", progress=HALF))
    board.take(Event(1, "elsewhere"))
    console = Console(file=io.StringIO(), width=120, force_terminal=True, color_system=None)
    console.print(live.moving(board))
    shown = console.file.getvalue()
    assert "college   ppo" in shown
    assert "50%    1,000" in shown
    assert "in another process" in shown
    assert "waiting" in shown
    assert "0 of 5 jobs" in shown
    finished = jobs.load(next((store / "college").glob("ppo-*")))
    console = Console(file=io.StringIO(), width=200, force_terminal=True, color_system=None)
    with live.view(board, console) as tell:
        tell(Event(0, "finished", result=finished))
        tell(Event(1, "failed", message="update 3: [the] loss"))
    assert "[1/5] college ppo" in console.file.getvalue()
    assert "failed, update 3: [the] loss" in console.file.getvalue()


def test_many_waiting_jobs_are_counted(store):
    board = Board(paper_jobs(["lending"], seeds=2))
    console = Console(file=io.StringIO(), width=120)
    console.print(live.moving(board))
    assert f"and {len(board.jobs) - 3} more" in console.file.getvalue()


def test_long_trainings_tell_how_far_they_are(monkeypatch):
    monkeypatch.setattr(live, "_SECONDS_BETWEEN_LINES", -1.0)
    board, text = Board(paper_jobs(["college"], ["ppo"], seeds=1)), io.StringIO()
    with live.view(board, Console(file=text, width=200)) as tell:
        tell(Event(0, "started"))
        tell(Event(0, "progress", progress=HALF))
        tell(Event(0, "retried", message="its worker died, it is given to another"))
        for _ in range(3):
            tell(Event(0, "elsewhere"))
    lines = text.getvalue().splitlines()
    assert lines[0].startswith("college ppo: 50%, -:-- remaining, 500 steps, 1,000 steps/s")
    assert lines[1:] == [
        "college ppo: its worker died, it is given to another",
        "college ppo: another process is at it, left for later",
    ]


def test_ctrl_c_gives_130_and_the_second_start_ends_with_the_same_numbers(
    store, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(trainer, "_SECONDS_PER_CHUNK", 0.0)
    tell, pressed = Board.take, []

    def press(board, event):
        if event.kind == "progress" and not pressed:
            pressed.append(event.progress.update)
            os.kill(os.getpid(), signal.SIGINT)
        return tell(board, event)

    command = [*COMMAND, "--out", str(tmp_path)]
    with monkeypatch.context() as patch:
        patch.setattr(Board, "take", press)
        assert cli.main(command) == 130
    assert "stopped after 1 of 2 updates; the same command goes on from there" in capsys.readouterr().err
    (folder,) = (tmp_path / "college").iterdir()
    assert (folder / "checkpoint.npz").exists()
    assert cli.main(command) == 0
    for name in ("weights.npz", "episodes.csv", "curves.npz", "outcome.npz"):
        undisturbed = store / "college" / folder.name / name
        assert (folder / name).read_bytes() == undisturbed.read_bytes()


def test_a_failed_job_is_named_in_the_end_and_the_others_are_reported(store, capsys, monkeypatch):
    load = executors.load

    def spoiled(*args, **keywords):
        raise FloatingPointError("update 3: the loss became NaN or infinite")

    monkeypatch.setattr(executors, "load", lambda folder, s: None if s.method == "ppo" else load(folder, s))
    monkeypatch.setattr(executors, "run", spoiled)
    assert cli.main([*COMMAND, "--out", str(store)]) == 2
    shown = capsys.readouterr()
    assert "1 of 2 jobs failed: college ppo: update 3: the loss" in shown.err
    assert "1 jobs, " in shown.out


def test_a_full_disk_is_a_message_and_exit_code_1(tmp_path, capsys, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert cli.main([*COMMAND, "--out", str(tmp_path)]) == 1
    assert "the disk is full; what was kept before is whole" in capsys.readouterr().err


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


WRONG = [
    (["--methods", "pop"], ["Unknown method 'pop'"]),
    (["--scenario", "colege"], ["Unknown environment 'colege'", "'college'"]),
    (["--seeds", "0"], ["seeds must be at least 1, got 0"]),
    (["--ray-address", "auto"], ["--ray-address auto does nothing without --executor ray"]),
    (["--curve-every", "-1"], ["curve_every must be at least 0, got -1"]),
]


@pytest.mark.parametrize(("arguments", "parts"), WRONG)
def test_wrong_input_is_explained_with_exit_code_2(arguments, parts, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["reproduce", *arguments]) == 2
    told = capsys.readouterr().err
    for part in parts:
        assert part in told
    assert not list(tmp_path.iterdir())


def test_the_paper_has_no_such_row():
    with pytest.raises(ValueError, match="there is nothing to run"):
        reproduction.show_reproduction([], None, Console())


def test_its_curves_are_there_for_the_report(store):
    result = jobs.load(next((store / "college").glob("ppo-*")))
    assert result.curves.steps.tolist() == [512, 1024]
    assert np.isfinite(result.curves.values["average_return"]).all()
