"""`bisimulator certify` and `bisimulator frontier` as a person calls them."""

import pytest

from bisimulator.cli import app as cli

TINY = ["--seeds", "2", "--episodes", "1", "--set", "population=6", "horizon=10"]
TINY_PPO = ["--steps", "16", "--solver.num-envs", "2", "--solver.rollout", "4", "--solver.minibatch", "4"]


pytestmark = pytest.mark.usefixtures("wide_terminal")


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with one tiny training and one rule."""
    out = tmp_path_factory.mktemp("runs")
    assert cli.main(["train", "lending", "ppo", *TINY, *TINY_PPO, "--out", str(out)]) == 0
    assert cli.main(["compare", "lending", "--methods", "accept-all", *TINY, "--out", str(out)]) == 0
    return out


def folder(runs, method):
    return next((runs / "lending").glob(f"{method}-*"))


def test_certify_a_trained_policy(runs, capsys):
    capsys.readouterr()
    assert cli.main(["certify", str(folder(runs, "ppo")), "--seed", "1"]) == 0
    shown = capsys.readouterr().out
    assert "ppo on lending, seed 1" in shown
    assert "exact, per person" in shown
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
    assert ["here", "ppo"] not in rows  # its settings are others
    assert "Left out: 2 jobs with other settings of lending." in shown
    assert cli.main(["frontier", "lending", "--levels", "0.9", "--runs", str(runs), *TINY[-3:]]) == 0
    shown = capsys.readouterr().out
    rows = [line.split()[:2] for line in shown.splitlines()]
    assert ["here", "ppo"] in rows
    assert ["here", "accept-all"] in rows
    assert ["paper", "Max-util"] not in rows
    assert figure.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["certify", "nowhere"], ["nowhere holds no finished job", "bisimulator runs list"]),
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
        ([str(folder(runs, "ppo")), "--seed", "7"], "--seed 7 was not trained; choose one of 0, 1"),
    ):
        assert cli.main(["certify", *arguments]) == 2
        assert part in capsys.readouterr().err
