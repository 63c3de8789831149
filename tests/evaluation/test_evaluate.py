"""Means, intervals, seeds: what `evaluate` promises."""

import numpy as np
import pytest
from scipy import stats

import bisimulator
from bisimulator import evaluation, policies

ENV = bisimulator.make("lending", population=30, horizon=60)
HALF = policies.random(0.5)


@pytest.fixture(scope="module")
def run():
    return bisimulator.evaluate(ENV, HALF, seeds=4, episodes=3)


def test_values_are_seed_by_episode_and_counts_add_up(run):
    assert all(values.shape == (4, 3) for values in run.episodes.values())
    np.testing.assert_array_equal(run.outcome.count("applied").sum(-1), 60)
    np.testing.assert_array_equal(run.outcome.people.sum(-1), 30)
    approvals = run.outcome.approvals
    assert approvals.shape == (4, 3, 60, 2)
    np.testing.assert_array_equal(approvals[..., -1, :], run.outcome.count("approved"))
    assert (np.diff(approvals, axis=-2) >= 0).all()
    np.testing.assert_array_equal(run.episodes["average_return"], run.outcome.count("reward").sum(-1))


def test_a_seed_gives_the_same_episodes_whatever_the_others_are(run):
    again = bisimulator.evaluate(ENV, HALF, seeds=[2, 9, 5, 4], episodes=3)
    for metric, values in run.episodes.items():
        np.testing.assert_array_equal(values[2], again.episodes[metric][0])
    assert again.seeds == (2, 9, 5, 4)


def test_different_seeds_and_episodes_differ(run):
    assert len(np.unique(run.episodes["recall_g1"])) == 12


def test_names_are_those_of_the_published_tables(run):
    wanted = {
        "average_return",
        "credit_gap",
        "recall_g1",
        "recall_g2",
        "recall_gap",
        "recall_mean",
        "recall_sd",
    }
    assert wanted <= set(run.summary)
    assert not any("social_burden" in name for name in run.summary)
    college = bisimulator.make("college", population=20, horizon=20)
    summary = bisimulator.evaluate(college, HALF, seeds=2, episodes=1).summary
    assert {"average_return", "social_burden_g1", "social_burden_g2", "recall_g1", "recall_gap"} <= set(
        summary
    )
    assert not any("credit" in name for name in summary)


def test_interval_is_students_over_the_seeds_means():
    values = np.array([[1.0, 3.0], [5.0, 7.0], [2.0, 2.0]])
    mean, half = evaluation.mean_and_interval(values)
    low, high = stats.t.interval(0.95, 2, np.mean([2, 6, 2]), stats.sem([2, 6, 2]))
    np.testing.assert_allclose((mean - half, mean + half), (low, high), rtol=1e-12)


def test_undefined_episodes_are_left_out():
    nan = np.nan
    values = np.array([[1.0, nan], [nan, nan], [3.0, 5.0]])
    assert evaluation.mean_and_interval(values) == evaluation.mean_and_interval(np.array([[1.0], [4.0]]))
    assert np.isnan(evaluation.mean_and_interval(np.array([[nan]]))).all()
    one = evaluation.mean_and_interval(np.array([[2.0, 4.0]]))
    assert one[0] == 3
    assert np.isnan(one[1])


def test_rejecting_everybody_leaves_precision_undefined():
    summary = bisimulator.evaluate(ENV, policies.reject_all(), seeds=2, episodes=2).summary
    assert summary["average_return"] == (0, 0)
    assert summary["recall_gap"][0] == 0
    assert np.isnan(summary["precision_g1"][0])


def test_printing_shows_every_metric(run):
    lines = repr(run).splitlines()
    assert lines[0] == "Evaluation of lending: 4 seeds x 3 episodes"
    assert len(lines) == 1 + len(run.summary)


def test_other_parameters_of_the_same_shape_do_not_compile_again(run):
    size = evaluation._run._cached._cache_size()
    env = bisimulator.make("lending", population=30, horizon=60, repayment=np.linspace(0.1, 0.5, 7))
    other = bisimulator.evaluate(env, policies.random(0.1), seeds=4, episodes=3)
    assert evaluation._run._cached._cache_size() == size
    assert other.summary["average_return"][0] < run.summary["average_return"][0]


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": [1, -1]}, "a seed must be at least 0, got -1"),
        ({"seeds": "12"}, "seeds must be a whole number, got '12'"),
        ({"seeds": [0.5]}, "a seed must be a whole number, got 0.5"),
        ({"episodes": 0}, "episodes must be at least 1, got 0"),
        ({"episodes": 2.0}, "episodes must be a whole number, got 2.0"),
    ],
)
def test_wrong_numbers_are_explained(keywords, message):
    with pytest.raises(ValueError, match=message):
        bisimulator.evaluate(ENV, HALF, **keywords)


def test_the_environment_must_be_one():
    with pytest.raises(TypeError, match=r"must come from bisimulator\.make, got 'lending'"):
        bisimulator.evaluate("lending", HALF)
