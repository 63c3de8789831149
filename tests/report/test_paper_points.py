"""Jobs beside the points of another paper: verdicts, table, files and regrets."""

import math

import numpy as np
import pytest
from scipy import stats

from bisimulator import published
from bisimulator.jobs.papers import PAPERS
from bisimulator.report.paper_points import (
    CSV_COLUMNS,
    PointComparison,
    compare_points,
    markdown_points,
    point_grid,
    point_rows,
    points_sentence,
)
from bisimulator.report.report_page import render_report
from bisimulator.report.verdicts import BEATEN, MATCHED, MISSED
from tests.report.synthetic_results import synthetic_result

LENDING = "lending-delayed-impact"
SMALL = {"population": 20, "horizon": 200}


@pytest.mark.parametrize(
    ("metric", "theirs", "ours", "verdict"),
    [
        ("reward_per_step", 0.1, 0.0971, MATCHED),
        ("reward_per_step", 0.1, 0.0969, MISSED),
        ("reward_per_step", 0.1, 0.1019, MATCHED),
        ("reward_per_step", 0.1, 0.1021, BEATEN),
        ("reward_per_step", -2.0, -2.05, MATCHED),
        ("reward_per_step", -2.0, -2.07, MISSED),
        ("reward_per_step", -2.0, -1.9, BEATEN),
        ("benefit_rate_bias", 0.05, 0.069, MATCHED),
        ("benefit_rate_bias", 0.05, 0.071, MISSED),
        ("benefit_rate_bias", 0.05, 0.04, BEATEN),
        ("reward_per_step", 0.1, math.nan, MISSED),
    ],
)
def test_a_method_must_be_at_least_as_good(metric, theirs, ours, verdict):
    point = published.Point(theirs, 0.02, "figure")
    assert PointComparison(metric, (ours, 0.0), point, rule=False, seeds=2).verdict == verdict


@pytest.mark.parametrize(("ours", "verdict"), [(58.0, MATCHED), (60.0, MISSED), (56.0, MISSED)])
def test_a_rule_must_have_the_printed_numbers(ours, verdict):
    point = published.Point(58.0, 0.0, "table")
    assert PointComparison("sick_days", (ours, 0.0), point, rule=True, seeds=2).verdict == verdict


@pytest.mark.parametrize(
    ("ours", "verdict"), [(0.2179, MATCHED), (0.2181, MISSED), (0.2021, MATCHED), (0.2019, MISSED)]
)
def test_a_rule_must_have_the_numbers_of_another_simulation_within_3_standard_errors_and_rounding(
    ours, verdict
):
    point = published.points("damour")["attention", "uniform", "reward_per_step"]  # printed as 0.21
    half_width = stats.t.ppf(0.975, 4) * 0.001
    assert (
        PointComparison("reward_per_step", (ours, half_width), point, rule=True, seeds=5).verdict == verdict
    )


@pytest.fixture(scope="module")
def points():
    options = {"noise": 0.0, "settings": SMALL, "seeds": 2}
    results = [
        synthetic_result(LENDING, "ppo", recalls=(0.8, 0.7), income=30.0, **options),
        synthetic_result(LENDING, "elbert", recalls=(0.8, 0.2), income=20.0, **options),
        synthetic_result(LENDING, "accept-all", recalls=(1.0, 1.0), income=-10.0, **options),
    ]
    rows = {results[0].spec.name: "G-PPO", results[1].spec.name: "ELBERT-PO"}
    return compare_points(PAPERS["elbert"], rows, results)


def test_the_table_has_published_here_and_verdict_and_the_regrets(points):
    grid = point_grid(points, LENDING)
    assert grid.head[:4] == ["method", "reward per step, published", "here", "verdict"]
    assert grid.head[-2:] == ["regret %, published", "here"]
    by_label = {row[0]: row for row in grid.rows}
    assert by_label["G-PPO"][1:4] == ["0.148±0.003", "0.150±0.000", MATCHED]
    assert by_label["ELBERT-PO"][3] == MISSED
    assert by_label["ELBERT-PO"][6] == MISSED
    assert by_label["accept-all"][1] == by_label["accept-all"][3] == ""
    regrets = {label: float(row[-1].partition("±")[0]) for label, row in by_label.items()}
    assert regrets["ELBERT-PO"] > regrets["G-PPO"]
    assert by_label["accept-all"][-2] == ""
    assert float(by_label["ELBERT-PO"][-2].partition("±")[0]) < regrets["ELBERT-PO"]


def test_numbers_are_counted_and_what_was_not_run_is_said(points):
    assert points.counts(LENDING) == {"matched": 1, "beaten": 1, "missed": 2, "not run": 4}
    total = len(published.points("elbert"))
    assert f"Of the {total} numbers" in points_sentence(points)
    assert f"{total - 4} not run" in points_sentence(points)


def test_files_have_every_number(points):
    rows = [dict(zip(CSV_COLUMNS, row, strict=True)) for row in point_rows(points)]
    assert len(rows) == 6
    first = rows[0]
    assert (first["method"], first["metric"], first["published"]) == ("G-PPO", "reward_per_step", 0.148)
    assert first["published_error"] == pytest.approx(0.02 * 0.148)
    assert np.isclose(first["mean"], 0.15)
    assert rows[-1]["published"] == rows[-1]["verdict"] == ""
    assert "| G-PPO | 0.148±0.003 |" in markdown_points(points)


def test_the_page_has_the_table(points):
    page = render_report([row.result for row in points.rows], points=points)
    assert "Published, here, verdict" in page
    assert "as good within the tolerance" in page
    assert "intervals overlap" not in page
