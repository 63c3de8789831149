"""What one decision adds to the moments, compared with counting."""

import jax.numpy as jnp
import numpy as np
import pytest

from bisimulator.goals import Moments
from bisimulator.goals.moments import decision_moments

M, SCORES, VISITS = Moments(), 4, 2.5


def random_decisions(shape, seed=0):
    rng = np.random.default_rng(seed)
    accepted, qualified, ended = (rng.random(shape) < p for p in (0.5, 0.6, 0.3))
    reward = np.where(accepted, np.where(qualified, 1.0, -2.0), 0.0)
    return reward, accepted, qualified, ended, rng.integers(0, SCORES, shape)


@pytest.mark.parametrize("shape", [(), (7,), (5, 3), (0,)])
def test_moments_agree_with_counting(shape):
    decisions = random_decisions(shape)
    got = decision_moments(*map(jnp.asarray, decisions), visits=VISITS, num_scores=SCORES)
    assert got.shape == (*shape, M.FINAL + SCORES)
    rows = zip(*(np.ravel(x) for x in decisions), np.asarray(got).reshape(-1, M.FINAL + SCORES), strict=True)
    for reward, accepted, qualified, ended, score, row in rows:
        expected = {
            M.REWARD: reward,
            M.PEOPLE: 1 / VISITS,
            M.APPLIED: 1,
            M.APPROVED: accepted,
            M.QUALIFIED: qualified,
            M.APPROVED_QUALIFIED: accepted and qualified,
            M.ENDED: ended,
        }
        final = [ended and score == c for c in range(SCORES)]
        np.testing.assert_allclose(row, [*(float(expected[i]) for i in range(M.FINAL)), *final], rtol=1e-6)


def test_the_columns_are_different_and_the_scores_come_last():
    assert sorted(M) == list(range(len(M)))
    assert max(M) == M.FINAL


def test_final_scores_add_up_to_the_lives_that_ended():
    decisions = map(jnp.asarray, random_decisions((200,)))
    total = np.asarray(decision_moments(*decisions, visits=VISITS, num_scores=SCORES)).sum(0)
    assert total[M.FINAL :].sum() == total[M.ENDED]
    np.testing.assert_allclose(total[M.APPLIED], VISITS * total[M.PEOPLE], rtol=1e-5)
