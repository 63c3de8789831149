"""What a person sees at the command line."""

import subprocess
import sys
from typing import get_args

import pytest

import bisimulator
from bisimulator import registry
from bisimulator.cli import app as cli
from bisimulator.cli._settings import parse_settings
from tests.small import FEW


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"bisimulator {bisimulator.__version__}\n"


def test_list_shows_every_name_with_its_line(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert cli.main(["list"]) == 0
    shown = capsys.readouterr().out
    for kind in get_args(registry.Kind):
        for name in registry.names(kind):
            assert f"{name} " in shown
            assert registry.lookup(kind, name).summary in shown


def test_simulate_shows_groups_next_to_the_paper(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert cli.main(["simulate", "lending", "accept-all", "threshold", *FEW, "--next-to", "Max-util"]) == 0
    shown = capsys.readouterr().out
    assert "population=12, horizon=20), 2 seeds x 2 episodes" in shown
    assert "3670.7±42.4" in shown
    assert "EO" not in shown
    assert "The paper's rows are for the paper's parameters" in shown
    assert "accept-all instead of threshold: recall gap" in shown


def test_simulate_shows_all_published_methods_by_default(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert cli.main(["simulate", "college", "accept-all", *FEW]) == 0
    shown = capsys.readouterr().out
    assert "PPO + Bisimulator (Reward only)" in shown
    assert "Classifier" in shown
    assert "instead of" not in shown


WRONG = [
    (["lst"], ["Unknown command 'lst'", "Did you mean 'list'"]),
    (["simulate", "lendin", "accept-all"], ["Unknown environment 'lendin'", "Did you mean 'lending'"]),
    (["simulate", "lending", "acept-all"], ["Unknown method 'acept-all'", "Did you mean 'accept-all'"]),
    (["simulate", "lending"], ["got no policy", "accept-all"]),
    (["simulate", "lending", "threshold", "--next-to", "EQ"], ["Unknown published method", "'EO'"]),
    (
        ["simulate", "lending", "threshold", "--set", "popluation=5"],
        ["'popluation'", "Did you mean 'population'"],
    ),
    (
        ["simulate", "lending", "threshold", "--set", "population=0"],
        ["bisimulator: population must be at least 1, got 0"],
    ),
    (["simulate", "lending", "threshold", "--set", "population"], ["name=value", "'population'"]),
    (["simulate", "lending", "threshold", "--set", "population=many"], ["must be a number", "'many'"]),
    (["simulate", "lending", "threshold", "--set", "omega=__import__('os')"], ["must be a number"]),
    (
        ["simulate", "lending", "threshold", "--seeds", "0"],
        ["bisimulator: --seeds must be at least 1, got 0"],
    ),
    (["simulate", "lending", "threshold", "--episodes", "-1"], ["--episodes must be at least 1, got -1"]),
    (
        ["simulate", "lending", "threshold", "--episodes=-1"],
        ["bisimulator: --episodes must be at least 1, got -1"],
    ),
]


@pytest.mark.parametrize(("arguments", "parts"), WRONG)
def test_wrong_input_is_explained_with_exit_code_2(arguments, parts, capsys):
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("bisimulator: ")
    for part in parts:
        assert part in captured.err


@pytest.mark.parametrize(
    "arguments", [[], ["simulate"], ["simulate", "lending", "threshold", "--seeds", "few"]]
)
def test_wrong_options_exit_with_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as raised:
        cli.main(arguments)
    assert raised.value.code == 2
    assert capsys.readouterr().err


def test_settings_are_python_literals():
    parsed = parse_settings(
        ["population=500", "group_probs=(0.3, 0.7)", "conscientiousness=None", "epsilon=.5"]
    )
    assert parsed == {"population": 500, "group_probs": (0.3, 0.7), "conscientiousness": None, "epsilon": 0.5}


def test_a_traceback_comes_when_asked_for(monkeypatch):
    monkeypatch.setenv("BISIMULATOR_TRACEBACK", "1")
    with pytest.raises(ValueError, match="Unknown environment"):
        cli.main(["simulate", "lendin", "accept-all"])


def test_the_module_runs_and_its_exit_code_reaches_the_shell():
    run = subprocess.run(
        [sys.executable, "-m", "bisimulator", "lst"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert "Traceback" not in run.stderr


def test_a_warning_is_a_sentence_without_source_or_escapes(capsys):
    from bisimulator.__main__ import show_warning

    show_warning(UserWarning("runs/\x1b[31mred is\nleft out"), UserWarning, "store.py", 90)
    assert capsys.readouterr().err == "bisimulator: warning: runs/red is left out\n"
