"""What `bisimulator compare` prints, and what it checks before it runs."""

import pytest

from bisimulator.cli import app as cli
from bisimulator.jobs.store import find_runs
from bisimulator.report.text import number
from tests.small import FEW

pytestmark = pytest.mark.usefixtures("wide_terminal")


def test_it_prints_the_table_and_one_sentence_with_intervals(tmp_path, capsys):
    command = ["compare", "lending", "--methods", "accept-all,threshold", *FEW, "--out", str(tmp_path)]
    assert cli.main(command) == 0
    text = capsys.readouterr().out
    assert "lending, 2 seeds x 2 episodes" in text
    results = {result.spec.method: result for result in find_runs(tmp_path)}
    ordered = sorted(results, key=lambda method: results[method].summary["recall_gap"][0])
    gaps = [number(*results[method].summary["recall_gap"]) for method in ordered]
    assert f"{ordered[0]} instead of {ordered[1]}: recall gap {gaps[0]} instead of {gaps[1]} (" in text
    assert str(tmp_path / "lending" / "summary.csv") in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "accept-all,pop"], "Unknown method 'pop'"),
        (["--methods", "accept-all", "--set", "population=0"], "population must be at least 1"),
    ],
)
def test_all_jobs_are_checked_before_the_first_one_runs(arguments, message, tmp_path, capsys):
    assert cli.main(["compare", "lending", *arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
