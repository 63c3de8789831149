"""Interquartile means and differences from plain PPO, paired by seed."""

import dataclasses
import math

import numpy as np
import pytest

from bisimulator.core import Outcome
from bisimulator.evaluation.intervals import Interval
from bisimulator.report import statistics
from bisimulator.report._by_scenario import by_scenario
from tests.report.synthetic_results import several_results, synthetic_result


def entries(*results):
    (scenario,) = by_scenario(results)
    return {entry.result.spec.method: entry for entry in scenario.entries}


def test_differences_are_paired_by_seed_whatever_their_order():
    ppo, dqn = synthetic_result(method="ppo", noise=0.1), synthetic_result(method="dqn", noise=0.1)
    order = [2, 0]  # the seeds of the other job, and only two of them
    outcome = Outcome.from_arrays({name: values[order] for name, values in dqn.outcome.arrays().items()})
    shuffled = dataclasses.replace(dqn, spec=dataclasses.replace(dqn.spec, seeds=(2, 0)), outcome=outcome)
    difference = statistics.paired_difference(shuffled, ppo, "recall_gap")
    both = (dqn.columns["recall_gap"] - ppo.columns["recall_gap"]).mean(1)[order]
    assert difference.estimate == pytest.approx(both.mean())


def test_a_pair_of_equal_jobs_has_no_difference():
    result = synthetic_result()
    difference = statistics.paired_difference(result, result, "recall_gap")
    assert statistics.significance(difference) == "the same with every seed"


def test_jobs_without_a_common_seed_cannot_be_compared():
    one, other = synthetic_result(seeds=[0, 1]), synthetic_result(method="dqn", seeds=[2, 3])
    assert statistics.significance(statistics.paired_difference(one, other, "recall_gap")) == "unknown"


@pytest.mark.parametrize(
    ("interval", "words"),
    [
        ((1.0, 0.5, 1.5), "significantly higher"),
        ((-1.0, -1.5, -0.5), "significantly lower"),
        ((1.0, -0.5, 2.5), "no significant difference"),
        ((1.0, 0.0, 2.0), "no significant difference"),
        ((0.0, 0.0, 0.0), "the same with every seed"),
        ((1.0, math.nan, math.nan), "too few seeds to tell"),
        ((math.nan, math.nan, math.nan), "unknown"),
    ],
)
def test_significance_in_words(interval, words):
    assert statistics.significance(Interval(*interval)) == words


def test_intervals_are_written_with_their_ends():
    assert statistics.interval_text(Interval(3572.3249, 3510.1, 3620.4)) == "3572.32 (3510.10 to 3620.40)"
    assert statistics.interval_text(Interval(0.0012, -0.002, 0.004), sign=True) == "+0.001 (-0.002 to +0.004)"
    assert statistics.interval_text(Interval(1.5, math.nan, math.nan)) == "1.500"
    assert statistics.interval_text(Interval(math.nan, math.nan, math.nan)) == "-"


def test_csv_has_a_difference_for_all_but_plain_ppo():
    rows = [
        dict(zip(statistics.CSV_COLUMNS, row, strict=True)) for row in statistics.csv_rows(several_results())
    ]
    for row in rows:
        assert row["iqm_low"] <= row["iqm"] <= row["iqm_high"]
        assert (row["minus_ppo"] == "") == (row["method"] == "PPO")


def test_without_plain_ppo_there_is_nothing_to_compare_with():
    rows = statistics.csv_rows([synthetic_result(method="dqn")])
    assert all(row[6:] == ("", "", "", "") for row in rows)


def test_the_bootstrap_is_the_same_each_time():
    one, other = (statistics.iqm(entries(synthetic_result(noise=0.1))["ppo"], "recall_gap") for _ in range(2))
    assert one == other
    assert np.isfinite(one).all()
