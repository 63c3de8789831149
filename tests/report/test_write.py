"""All files of a report, from any results."""

import csv

import pytest

from bisimulator.report import write
from bisimulator.report.write import write_report
from tests.report.synthetic_results import synthetic_result


@pytest.fixture(scope="module")
def results():
    return [synthetic_result(method="ppo"), synthetic_result(method="accept-all", recalls=(1.0, 1.0))]


@pytest.fixture(scope="module")
def written(results, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    return out, write_report(results, out, ("svg", "png"))


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


def test_figures_are_svg_unless_other_formats_are_chosen(results, tmp_path, monkeypatch):
    monkeypatch.setattr(write, "render_report", lambda results, references, points: "")
    for formats, suffixes in (({}, {".svg"}), ({"formats": ("pdf",)}, {".pdf"})):
        paths = write_report(results[1:], tmp_path, **formats)
        figures = [path for path in paths if path.parent.name == "figures"]
        assert {path.suffix for path in figures} == suffixes
    assert all(path.read_bytes().startswith(b"%PDF") for path in figures)


def test_an_unknown_format_is_refused_before_anything_is_written(results, tmp_path):
    with pytest.raises(ValueError, match=r"Unknown format 'jpg'.*Known: pdf, png, svg"):
        write_report(results, tmp_path, ("jpg",))
    assert not list(tmp_path.iterdir())


def test_without_results_there_is_no_report(tmp_path):
    with pytest.raises(ValueError, match="run a job first"):
        write_report([], tmp_path)
    assert not list(tmp_path.iterdir())
