"""Trajectories against the evaluation of the same episodes."""

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing import trajectories as columns
from bisimulator.auditing.trajectories import Trajectories, score_values, simulate_trajectories


@pytest.fixture(scope="module")
def both(env):
    policy = bisimulator.policies.thresholds((2, 1))
    return simulate_trajectories(env, policy, seeds=3, episodes=2)


def test_they_count_the_same_episodes_as_evaluate(both, env):
    evaluation, trajectories = both
    again = bisimulator.evaluate(env, bisimulator.policies.thresholds((2, 1)), seeds=3, episodes=2)
    assert evaluation.seeds == again.seeds
    assert evaluation.episodes.keys() == again.episodes.keys()
    for name, values in again.episodes.items():
        np.testing.assert_allclose(evaluation.episodes[name], values, rtol=1e-6)
    for column, name in (
        (columns.APPLIED, "applied"),
        (columns.APPROVED, "approved"),
        (columns.QUALIFIED, "qualified"),
    ):
        np.testing.assert_allclose(
            trajectories.sums[..., column].sum(0), evaluation.outcome.count(name).sum((0, 1)), rtol=1e-6
        )
    np.testing.assert_array_equal(trajectories.people, evaluation.outcome.people.sum((0, 1)))


def test_scores_begin_where_people_begin_and_end_where_they_end(both, env):
    evaluation, trajectories = both
    end = evaluation.outcome.true_scores.sum((0, 1))
    np.testing.assert_allclose(trajectories.score[-1], end @ score_values(env) / end.sum(1), rtol=1e-5)
    expected = np.asarray(env.params.initial) @ score_values(env)
    spread = 160 / np.sqrt(trajectories.people)
    assert (abs(trajectories.score[0] - expected) < 4 * spread).all()
    assert len(trajectories.score) == len(trajectories.time) + 1


def test_time_is_in_applications_of_an_average_person(both):
    _, trajectories = both
    np.testing.assert_allclose(trajectories.time[-1], 1000 / 200)
    assert trajectories.approval_rate.shape == trajectories.recall.shape == (len(trajectories.time), 2)


def test_scores_without_bins_are_themselves():
    np.testing.assert_array_equal(score_values(bisimulator.make("lending")), np.arange(7))


def test_a_window_without_applications_has_no_rate():
    counts = np.zeros((2, 1, 5))
    counts[0, 0] = (4, 1, 2, 1, 0)
    trajectories = Trajectories(np.arange(2.0), counts, np.ones(1), np.zeros((3, 1)))
    np.testing.assert_array_equal(trajectories.approval_rate, [[0.25], [np.nan]])
    np.testing.assert_array_equal(trajectories.recall, [[0.5], [np.nan]])
