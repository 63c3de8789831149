"""An option that stands twice adds up or is refused; nothing is dropped."""

import pytest

from bisimulator.cli._repeated import join_repeated
from bisimulator.cli._settings import parse_settings


def test_settings_and_goals_add_up():
    arguments = [
        "lending",
        "--set",
        "a=1",
        "--seeds",
        "3",
        "--set",
        "b=2",
        "c=3",
        "--goal",
        "x=1",
        "--goal",
        "y=2",
    ]
    assert join_repeated(arguments) == (
        ["lending", "--set", "a=1", "b=2", "c=3", "--seeds", "3", "--goal", "x=1", "y=2"]
    )
    assert join_repeated(["--set=a=1", "--set=b=2"]) == ["--set=a=1", "b=2"]


@pytest.mark.parametrize(
    "twice",
    [
        ["--seeds", "2", "--seeds", "3"],
        ["--seeds=2", "--seeds", "3"],
        ["--group-blind", "--group_blind"],
        ["--greedy", "yes", "--greedy", "no"],
        ["--solver.max-grad-norm", "1", "--solver.max_grad_norm", "2"],
        ["--solver.anneal", "--solver.no-anneal"],
        ["--levels", "0.5", "--levels", "0.6"],
    ],
)
def test_other_options_are_refused(twice):
    with pytest.raises(ValueError, match="stands twice; write it once"):
        join_repeated(twice)


def test_what_stands_once_stays_as_it_is():
    arguments = ["lending", "ppo", "--levels", "-0.5", "0.6", "--set", "a=[1, 2]", "--yes", "-x"]
    assert join_repeated(arguments) == arguments


def test_a_setting_stands_once(tmp_path):
    with pytest.raises(ValueError, match="--set has population twice"):
        parse_settings(["population=5", "population=6"])
    (tmp_path / "people.json").write_text('{"population": 5, "horizon": 7}')
    assert parse_settings([f"@{tmp_path / 'people.json'}", "population=6"]) == {"population": 6, "horizon": 7}
