"""The distance between scores and the advantage of F-PPO-L compared with SciPy and the formula in NumPy."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import wasserstein_distance

import bisimulator
from bisimulator.methods.f_ppo_l import Config, Extras, build, distance
from tests.methods.batches import random_batch

TWO = bisimulator.make("lending", population=6, horizon=5)
SCORES = TWO.params.num_scores


def scipy_distance(scores):
    if (scores.sum(-1) == 0).any():
        return 0.0
    return wasserstein_distance(range(SCORES), range(SCORES), scores[0], scores[1])


def test_the_distance_of_two_groups_is_that_of_scipy():
    scores = np.random.default_rng(0).random((4, 2, SCORES)).astype(np.float32)
    scores[3, 1] = 0  # a group without applicants
    np.testing.assert_allclose(distance(jnp.asarray(scores)), [scipy_distance(s) for s in scores], atol=1e-5)


def test_the_change_of_the_distance_is_that_of_the_decision_and_a_new_episode_starts_empty():
    batch = random_batch(0)
    moved = jnp.asarray(np.random.default_rng(1).random(batch.obs.shape), jnp.float32)
    batch = dataclasses.replace(batch, next_self_obs=moved)
    method = build(Config(window=4.0), TWO)
    state, extras = method.learn(jax.random.key(0), method.init(jax.random.key(0), TWO, 3), batch)
    at = [np.round(np.asarray(x)[..., 0] * (SCORES - 1)).astype(int) for x in (batch.obs, moved)]
    ended = np.asarray(batch.terminated | batch.truncated)
    assert ended.any()
    for e in range(3):
        scores = np.zeros((2, SCORES))
        for t in range(12):
            before, after = 0.75 * scores, 0.75 * scores
            before[batch.group[t, e], at[0][t, e]] += 1
            after[batch.group[t, e], at[1][t, e]] += 1
            change = scipy_distance(after) - scipy_distance(before)
            assert extras.change[t, e] == pytest.approx(change, abs=1e-5)
            scores = np.zeros((2, SCORES)) if ended[t, e] else after
        np.testing.assert_allclose(state.scores[e], scores, atol=1e-5)


def test_the_advantage_agrees_with_the_formula():
    rng = np.random.default_rng(2)
    raw, change = rng.normal(size=(9, 1)).astype(np.float32), rng.normal(size=9).astype(np.float32)
    gap = np.float32([0, 0.1] * 4 + [0.005])
    got = build(Config(), TWO).advantage(
        None, jnp.asarray(raw), Extras(jnp.asarray(gap), jnp.asarray(change))
    )

    def unit(x):
        return (x - x.min()) / (x.max() - x.min())

    wider = np.where(gap > np.float32(0.005), np.minimum(0, -change), 0)
    closer = np.where(gap > np.float32(0.005), 0, np.maximum(0, -change))
    total = unit(raw[:, 0]) + 1.12 * unit(wider) + unit(closer)
    np.testing.assert_allclose(got, (total - total.mean()) / total.std(), atol=1e-4)


def test_without_weights_the_advantage_is_the_plain_one():
    raw = np.random.default_rng(3).normal(size=(9, 1)).astype(np.float32)
    extras = Extras(jnp.linspace(0, 1, 9), jnp.linspace(-1, 1, 9))
    got = build(Config(beta_wider=0.0, beta_closer=0.0), TWO).advantage(None, jnp.asarray(raw), extras)
    np.testing.assert_allclose(got, (raw[:, 0] - raw.mean()) / raw.std(), atol=1e-4)


@pytest.mark.parametrize("wrong", [{"beta_wider": -1}, {"omega": 2}, {"window": 0.5}])
def test_wrong_options_raise_an_error(wrong):
    with pytest.raises(ValueError, match="must"):
        Config(**wrong)
