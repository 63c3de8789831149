"""Kinds of people against the exact chain: a kind is like a group of its own."""

import numpy as np
import pytest

import bisimulator
from bisimulator.exact.chain import expect
from bisimulator.exact.kinds import Kinds, certificate_of_kinds, expect_kinds, kinds_of

ACCEPT = np.array([[0, 0, 1, 1], [0, 0.5, 1, 1], [1, 0, 1, 1]], np.float64)
START = np.array([[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]])
SMALL = {"repayment": [0.2, 0.5, 0.8, 0.9], "population": 100, "horizon": 500, "reward_default": -2}
STEP = np.eye(4)[[0, 0, 1, 2]] * 0.5 + np.eye(4) * 0.5
OTHERS = {
    "moves by steps": {},
    "hidden types": {"conscientiousness": (0.55, 0.1)},
    "moves by a table": {"moves": np.stack([STEP, STEP[::-1, ::-1]]), "rejected_moves": 0.2},
}


@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
def test_kinds_of_one_group_add_up_as_groups_do(others):
    """Of the first group two kinds, 30% and 70%; of the second one."""
    shares = np.array([0.3, 0.7])
    apart = bisimulator.make("lending", initial=START, group_probs=(0.18, 0.42, 0.4), **SMALL, **others)
    joint = shares @ START[:2]
    env = bisimulator.make("lending", initial=[joint, START[2]], group_probs=(0.6, 0.4), **SMALL, **others)
    start = START * np.append(shares, 1)[:, None]
    found = expect_kinds(env, Kinds(np.array([0, 0, 1]), start, ACCEPT, 2))[0]
    expected = expect(apart, ACCEPT)
    assert found.average_return == pytest.approx(expected.average_return, rel=1e-6)
    for name in ("people", "group_return", "applied", "approved", "qualified", "approved_qualified"):
        each = getattr(expected, name)
        np.testing.assert_allclose(getattr(found, name), [each[:2].sum(), each[2]], rtol=1e-6)
    ends = expected.final_scores
    np.testing.assert_allclose(found.final_scores, [shares @ ends[:2], ends[2]], atol=1e-6)
    loans = certificate_of_kinds(env, found).entry("loans", "episode")
    assert loans.gap == pytest.approx(abs(np.subtract(*(found.approved / found.people))))
    assert "No bound" in loans.explanation


def test_shorter_episodes_are_sums_over_the_same_visits():
    env = bisimulator.make("lending", initial=START, **SMALL)
    kinds = Kinds(np.arange(3), START, ACCEPT, 3)
    for end, found in zip((20, 200, 500), expect_kinds(env, kinds, (20, 200, 500)), strict=True):
        expected = expect(bisimulator.make("lending", initial=START, **SMALL | {"horizon": end}), ACCEPT)
        np.testing.assert_allclose(found.approved, expected.approved, rtol=1e-6)
        np.testing.assert_allclose(found.final_scores, expected.final_scores, atol=1e-6)


def test_people_are_put_together_by_group_and_decisions():
    group, score = np.array([0, 0, 0, 1, 1]), np.array([0, 3, 3, 1, 1])
    kinds = kinds_of(group, score, ACCEPT[[0, 1, 1, 2, 2]], 2)
    assert len(kinds.group) == 3
    assert kinds.decided_by_score is None
    np.testing.assert_allclose(kinds._by_group(kinds.start), [[1 / 3, 0, 0, 2 / 3], [0, 1, 0, 0]])
    np.testing.assert_allclose(kinds.average, [[0, np.nan, np.nan, 1], [np.nan, 0, np.nan, np.nan]])
    alike = kinds_of(group, score, ACCEPT[[1, 1, 1, 2, 2]], 2)
    np.testing.assert_array_equal(alike.decided_by_score, ACCEPT[1:])
