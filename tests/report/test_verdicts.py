"""Matched, beaten or missed: every published number, at the edges and in the sums."""

import math

import numpy as np
import pytest

from bisimulator import published
from bisimulator.published import Published
from bisimulator.report._table_columns import direction
from bisimulator.report.verdicts import (
    BEATEN,
    MATCHED,
    MISSED,
    PaperComparison,
    compare_with_paper,
    count_verdicts,
)
from tests.report.synthetic_results import several_results, synthetic_result


def verdict(metric, ours, theirs):
    return PaperComparison("lending", "PPO", metric, ours, Published(*theirs)).verdict


@pytest.mark.parametrize(("scenario", "method", "metric"), published.results())
def test_each_published_number_is_matched_by_itself_and_only_near_itself(scenario, method, metric):
    theirs = published.results()[scenario, method, metric]
    better = 1 if direction(metric) == "higher" else -1
    far = 2 * theirs.ci95 + 0.01
    for shift, expected in ((0, MATCHED), (better * far, BEATEN), (-better * far, MISSED)):
        ours = (theirs.mean + shift, theirs.ci95)
        assert PaperComparison(scenario, method, metric, ours, theirs).verdict == expected


@pytest.mark.parametrize(
    ("metric", "ours", "theirs", "expected"),
    [
        ("credit_gap", (1.10, 0.05), (1.00, 0.05), MATCHED),  # the intervals touch
        ("credit_gap", (1.11, 0.05), (1.00, 0.05), MISSED),
        ("credit_gap", (0.89, 0.05), (1.00, 0.05), BEATEN),
        ("recall_g1", (0.9951, 0.0004), (1.00, 0.00), MATCHED),  # printed as 1.00 ± 0.00
        ("recall_g1", (0.9949, 0.0004), (1.00, 0.00), MISSED),  # printed as 0.99 ± 0.00
        ("recall_g1", (0.95, math.nan), (0.96, 0.01), MATCHED),  # one seed: our number in their interval
        ("recall_g1", (0.94, math.nan), (0.96, 0.01), MISSED),
        ("recall_g1", (math.nan, math.nan), (0.96, 0.01), MISSED),
    ],
)
def test_the_edges(metric, ours, theirs, expected):
    assert verdict(metric, ours, theirs) == expected


def test_a_mean_may_lie_within_the_published_interval_or_only_near_it():
    theirs = Published(1.00, 0.05)
    within = [
        PaperComparison("lending", "PPO", "credit_gap", (mean, 0.1), theirs).within
        for mean in (1.05, 0.95, 1.06)
    ]
    assert within == [True, True, False]


def test_a_wide_interval_matches_but_not_without_being_named():
    """A small sample does not look better than a large one."""
    theirs = Published(1.00, 0.05)
    narrow, wide, wider = (
        PaperComparison("lending", "PPO", "credit_gap", ours, theirs)
        for ours in ((1.10, 0.05), (1.11, 0.10), (1.50, 0.60))
    )
    assert [c.verdict for c in (narrow, wide, wider)] == [MATCHED] * 3
    assert [c.only_by_width for c in (narrow, wide, wider)] == [False, True, True]
    assert [c.width_ratio for c in (narrow, wide, wider)] == pytest.approx([1, 2, 12])
    counts = count_verdicts([narrow, wide, wider])
    assert (counts.matched, counts.only_by_width, counts.width) == (3, 2, pytest.approx(2))


def test_widths_that_are_not_known_are_not_counted():
    one_seed = PaperComparison("lending", "PPO", "credit_gap", (1.0, math.nan), Published(1.0, 0.05))
    printed_as_0 = PaperComparison("lending", "PPO", "recall_g1", (1.0, 0.01), Published(1.0, 0.0))
    assert math.isnan(count_verdicts([one_seed, printed_as_0]).width)


def test_every_number_of_a_job_is_compared_once():
    results = several_results()
    compared = compare_with_paper([*results, *results])
    keys = [(c.scenario, c.method, c.metric) for c in compared]
    assert len(keys) == len(set(keys)) == 4 * 5 + 2 * 4  # accept-all is not in the paper
    assert all(c.theirs == published.results()[key] for c, key in zip(compared, keys, strict=True))


def test_the_difference_is_ours_minus_theirs():
    result = synthetic_result()
    for c in compare_with_paper([result]):
        assert c.difference == pytest.approx(result.summary[c.metric][0] - c.theirs.mean)


def test_of_two_jobs_the_longer_one_is_compared():
    long, short = synthetic_result(steps=40_000, income=5000.0), synthetic_result(steps=20_000)
    ours = {c.ours for c in compare_with_paper([short, long]) if c.metric == "average_return"}
    assert ours == {long.summary["average_return"]}


def test_other_settings_are_not_compared():
    assert compare_with_paper([synthetic_result(settings={"population": 500})]) == []


def test_counts_add_up_to_all_of_the_papers_numbers():
    compared = compare_with_paper(several_results())
    total = count_verdicts(compared)
    assert total.total == len(published.results()) == 186
    assert total.total - total.not_run == len(compared)
    parts = [count_verdicts(compared, scenario) for scenario in {key[0] for key in published.results()}]
    sums = np.sum([list(part.by_verdict.values()) for part in parts], 0)
    assert sums.tolist() == list(total.by_verdict.values())
    assert count_verdicts([]).by_verdict == {"matched": 0, "beaten": 0, "missed": 0, "not run": 186}
