"""The points of methods beside a frontier: exact where they can be, otherwise with what their episodes say."""

import dataclasses

import numpy as np
import pytest

import bisimulator
from bisimulator.exact.chain import expect
from bisimulator.exact.frontier import frontier
from bisimulator.goals import DEMANDS
from bisimulator.report.frontier_points import (
    MethodPoint,
    comparable_runs,
    job_points,
    published_points,
    same_people,
)
from tests.report.synthetic_results import store, synthetic_result

SMALL = {"population": 20, "horizon": 100}


@pytest.fixture(scope="module")
def small():
    return bisimulator.make("lending", **SMALL)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Rules on small and smaller populations, and in college."""
    out = tmp_path_factory.mktemp("runs")
    for scenario, settings in (("lending", SMALL), ("lending", {**SMALL, "horizon": 50}), ("college", SMALL)):
        store(synthetic_result(scenario, "accept-all", recalls=(1.0, 1.0), seeds=2, settings=settings), out)
    return out


def test_published_points():
    lending = {point.method: point for point in published_points("lending")}
    assert len(lending) == 11
    assert lending["EO"].rates["min-recall"].tolist() == [[0.83, 0.73]]
    assert lending["EO"].level("min-recall") == 0.73
    assert lending["EO"].level("credit-gap") == 2.71
    assert lending["EO"].level("approval-gap") is None
    ten = published_points("lending-10-groups")
    assert all(p.level("min-recall") is None and p.level("recall-gap") is not None for p in ten)
    assert published_points("elsewhere") == []


def test_points_of_jobs_are_labelled_by_what_differs():
    results = [synthetic_result(steps=40_000), synthetic_result(steps=20_000), synthetic_result(method="dqn")]
    points = job_points(results)
    assert [point.method for point in points] == ["ppo (steps 40000)", "ppo (steps 20000)", "dqn"]
    assert points[0].average_return == pytest.approx(results[0].summary["average_return"])
    assert {point.measured for point in points} == {"simulated, 6 episodes"}


def test_the_point_of_a_rule_is_exact(runs, small):
    (result,), _ = comparable_runs(runs, small)
    (point,) = job_points([result])
    exact = expect(small, np.ones((2, 7)))
    assert point.measured == "exact"
    assert point.average_return == pytest.approx((exact.average_return, 0.0))
    assert point.levels.keys() == DEMANDS.keys()
    assert point.level("credit-gap") == pytest.approx(exact.credit_gap)
    assert point.rates["min-recall"].tolist() == [[1.0, 1.0]] * 2
    best = frontier(small, levels=[1.0])
    assert point.regret(best)[0] == pytest.approx(0, abs=1e-3)
    simulated = result.summary["average_return"]
    assert simulated[0] != pytest.approx(exact.average_return, rel=1e-6)


def test_the_regret_is_the_mean_of_each_seeds_own(small):
    best = frontier(small, "recall-gap", levels=[0.05])
    levels = np.array([0.0, 0.2])
    point = MethodPoint(
        "method", np.array([best.best_at(0.0) - 3, best.best_at(0.2) - 5]), {"recall-gap": levels}
    )
    mean, half = point.regret(best)
    assert mean == pytest.approx(4)
    assert half == pytest.approx(12.706, abs=1e-2)  # Student's quantile, one degree of freedom
    other = frontier(small, "approval-gap", levels=[0.05])
    assert np.isnan(point.regret(other)).all()


def test_a_point_from_a_summary():
    summary = synthetic_result(method="accept-all", recalls=(1.0, 1.0), noise=0.0).summary
    point = MethodPoint.from_summary("all", summary)
    assert point.rates["min-recall"].tolist() == [[1.0, 1.0]]
    assert point.average_return[0] == summary["average_return"][0]
    assert point.level("credit-gap") == summary["credit_gap"][0]


def test_only_jobs_about_the_same_people_are_compared(runs, small, tmp_path):
    same, left_out = comparable_runs(runs, small)
    assert [result.spec.settings for result in same] == [SMALL]
    assert left_out == "Left out: 1 job on other scenarios, 1 job with other settings of lending."
    found, sentence = comparable_runs(tmp_path, small)
    assert found == []
    assert sentence == f"There are no finished jobs in {tmp_path}."


def test_settings_that_are_the_defaults_are_no_other_settings(small):
    assert same_people(bisimulator.make("lending"), bisimulator.make("lending", population=1000))
    assert not same_people(bisimulator.make("lending"), small)
    assert not same_people(small, dataclasses.replace(small, params=bisimulator.make("lending").params))
