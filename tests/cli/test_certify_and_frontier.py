"""`bisimulator certify` and `bisimulator frontier` as a person calls them."""

import pytest

from bisimulator.cli import app as cli
from tests.small import FEW, JOB, METHOD, METHOD_OPTIONS, SET, SOLVER_OPTIONS, on_command_line

TRAIN = [*on_command_line(METHOD_OPTIONS, "method."), *on_command_line(SOLVER_OPTIONS, "solver.")]

pytestmark = pytest.mark.usefixtures("wide_terminal")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with one tiny training and one rule."""
    out = tmp_path_factory.mktemp("runs")
    train = ["train", "lending", METHOD, *TRAIN, *on_command_line(JOB), *SET, "--out", str(out)]
    compare = ["compare", "lending", "--methods", "accept-all", *FEW]
    assert cli.main(train) == cli.main([*compare, "--out", str(out)]) == 0
    return out


def folder(runs, method):
    return next((runs / "lending").glob(f"{method}-*"))


def test_certify_a_trained_policy(runs, capsys):
    capsys.readouterr()
    assert cli.main(["certify", str(folder(runs, METHOD)), "--seed", "1"]) == 0
    shown = capsys.readouterr().out
    assert f"{METHOD} on lending, seed 1" in shown
    assert "exact, per person" in " ".join(shown.split())  # a title may be wrapped
    assert "repaid loans" in shown


def test_frontier_with_one_s_own_results_and_the_paper_s(runs, tmp_path, capsys):
    figure = tmp_path / "frontier.png"
    options = ["--levels", "0.9", "1", "--runs", str(runs), "--figure", str(figure)]
    assert cli.main(["frontier", "lending", *options]) == 0
    shown = capsys.readouterr().out
    assert "3914.3" in shown
    assert "3570.7" in shown
    rows = [line.split()[:2] for line in shown.splitlines()]
    assert ["paper", "Max-util"] in rows
    assert ["here", METHOD] not in rows  # its settings are others
    assert "Left out: 2 jobs with other settings of lending." in shown
    assert cli.main(["frontier", "lending", "--levels", "0.9", "--runs", str(runs), *SET]) == 0
    shown = capsys.readouterr().out
    rows = [line.split()[:2] for line in shown.splitlines()]
    assert ["here", METHOD] in rows
    assert ["here", "accept-all"] in rows
    assert ["paper", "Max-util"] not in rows
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_frontier_of_another_criterion_with_group_blind_policies_as_a_file(tmp_path, capsys):
    path = tmp_path / "frontier.csv"
    options = ["--criterion", "approval-gap", "--levels", "0.1", "0.2", "--group-blind", "--csv", str(path)]
    assert cli.main(["frontier", "lending", *options, *SET]) == 0
    shown = capsys.readouterr().out
    assert "approval rate 2" in shown
    assert "group-blind" in shown
    assert path.read_text().startswith("approval-gap,any_policy,upper_bound,stationary,group_blind,recall_1,")
    assert len(path.read_text().splitlines()) == 3


def test_frontier_with_jobs_that_have_a_goal(runs, tmp_path, capsys):
    small = [*on_command_line(SOLVER_OPTIONS, "solver."), *on_command_line(JOB), *SET, "--out", str(tmp_path)]
    goal = ["train", "lending", "ppo", *small, "--goal", "min-recall=0.9"]
    assert cli.main(goal) == 0
    assert "Reached (exact)" in capsys.readouterr().out
    assert cli.main(["frontier", "lending", "--levels", "0.9", "--runs", str(tmp_path), *SET]) == 0
    shown = capsys.readouterr().out
    assert "Left out" not in shown
    row = next(line for line in shown.splitlines() if line.startswith("ppo"))
    assert row.split()[1] == "min-recall=0.9"
    assert row.split()[-1] == "exact"


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["frontier", "lending", "--runs", "nowhere"], ["there is no folder nowhere for --runs", "--out"]),
        (["frontier", "lending", "--criterion", "recal-gap"], ["Did you mean 'recall-gap'"]),
        (["certify", "nowhere"], ["nowhere holds no finished job", "bisimulator runs verify"]),
        (["frontier", "college"], ["no exact answer for 'college'", "simulate it with bisimulator.evaluate"]),
        (
            ["frontier", "lending", "--levels", "90"],
            ["must lie in [0, 1] (recalls), got 90", "divide by 100"],
        ),
    ],
)
def test_wrong_input_is_explained_with_exit_code_2(arguments, parts, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    for part in parts:
        assert part in captured.err


def test_what_cannot_be_certified_is_explained(runs, capsys):
    for arguments, part in (
        ([str(folder(runs, "accept-all"))], "'accept-all', which is not trained"),
        ([str(folder(runs, METHOD)), "--seed", "7"], "--seed 7 was not trained; choose one of 0, 1"),
    ):
        assert cli.main(["certify", *arguments]) == 2
        assert part in capsys.readouterr().err
