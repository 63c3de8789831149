"""The course of time against the evaluation of the same episodes."""

import numpy as np
import pytest

import bisimulator
from bisimulator.audit import trajectories as c
from bisimulator.audit.trajectories import Course, follow, score_values


@pytest.fixture(scope="module")
def both(env):
    policy = bisimulator.policies.thresholds((2, 1))
    return follow(env, policy, seeds=2, episodes=3)


def test_it_counts_the_same_episodes_as_evaluate(both, env):
    evaluation, course = both
    again = bisimulator.evaluate(env, bisimulator.policies.thresholds((2, 1)), seeds=2, episodes=3)
    assert evaluation.seeds == again.seeds
    assert evaluation.episodes.keys() == again.episodes.keys()
    for name, values in again.episodes.items():
        np.testing.assert_allclose(evaluation.episodes[name], values, rtol=1e-6)
    for column, name in ((c.APPLIED, "applied"), (c.APPROVED, "approved"), (c.QUALIFIED, "qualified")):
        np.testing.assert_allclose(
            course.counts[..., column].sum(0), evaluation.outcome.count(name).sum((0, 1)), rtol=1e-6
        )
    np.testing.assert_array_equal(course.people, evaluation.outcome.people.sum((0, 1)))


def test_scores_begin_where_people_begin_and_end_where_they_end(both, env):
    evaluation, course = both
    end = evaluation.outcome.true_scores.sum((0, 1))
    np.testing.assert_allclose(course.score[-1], end @ score_values(env) / end.sum(1), rtol=1e-5)
    expected = np.asarray(env.params.initial) @ score_values(env)
    spread = 160 / np.sqrt(course.people)
    assert (abs(course.score[0] - expected) < 4 * spread).all()
    assert len(course.score) == len(course.time) + 1


def test_time_is_in_applications_of_an_average_person(both):
    _, course = both
    np.testing.assert_allclose(course.time[-1], 1000 / 200)
    assert course.approval_rate.shape == course.recall.shape == (len(course.time), 2)


def test_scores_without_another_scale_are_themselves():
    np.testing.assert_array_equal(score_values(bisimulator.make("lending")), np.arange(7))


def test_a_window_without_applications_has_no_rate():
    counts = np.zeros((2, 1, 5))
    counts[0, 0] = (4, 1, 2, 1, 0)
    course = Course(np.arange(2.0), counts, np.ones(1), np.zeros((3, 1)))
    np.testing.assert_array_equal(course.approval_rate, [[0.25], [np.nan]])
    np.testing.assert_array_equal(course.recall, [[0.5], [np.nan]])
