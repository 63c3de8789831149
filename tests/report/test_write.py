"""All files of a report, from any results."""

import csv

import pytest

from bisimulator.report.write import write_report
from tests.report.made_up import made_up


@pytest.fixture(scope="module")
def results():
    return [made_up(method="ppo"), made_up(method="accept-all", recalls=(1.0, 1.0))]


@pytest.fixture(scope="module")
def written(results, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    return out, write_report(results, out)


def test_it_says_what_it_wrote(written):
    out, paths = written
    assert sorted(paths) == sorted(path for path in out.rglob("*") if path.is_file())
    names = {str(path.relative_to(out)) for path in paths}
    assert {"report.html", "tables/summary.md", "tables/statistics.csv"} <= names
    assert {f"tables/lending.{kind}" for kind in ("md", "tex", "csv")} <= names
    for figure in ("curves", "tradeoff", "approvals", "initial"):
        assert {f"figures/lending-{figure}.{kind}" for kind in ("png", "svg")} <= names


def test_tables_are_read_as_csv(written):
    out, _ = written
    for name in ("lending", "statistics"):
        with (out / f"tables/{name}.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert {row["method"] for row in rows} == {"PPO", "accept-all"}


def test_without_results_there_is_no_report(tmp_path):
    with pytest.raises(ValueError, match="run a job first"):
        write_report([], tmp_path)
    assert not list(tmp_path.iterdir())
