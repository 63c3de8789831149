"""The returns of groups, their streams, and advantages weighted by them, compared with NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.methods import ggf_ppo, max_min_ppo
from bisimulator.methods._group_returns import GroupReturns, add_batch, group_rewards
from tests.methods.batches import random_batch

THREE = bisimulator.make("lending", groups=3, population=6, horizon=5)
RETURNS = np.float32([0.5, -0.2, 0.1])
METHODS = [max_min_ppo.build(max_min_ppo.Config(), THREE), ggf_ppo.build(ggf_ppo.Config(), THREE)]
EQUAL = [
    max_min_ppo.build(max_min_ppo.Config(eta=0.0), THREE),
    ggf_ppo.build(ggf_ppo.Config(ratio=1.0), THREE),
]


def state_of(returns):
    return GroupReturns(jnp.asarray(returns), jnp.ones(len(returns)))


def standardised(x):
    return (x - x.mean()) / x.std()


def test_returns_are_rewards_per_decision_and_earlier_batches_count_less():
    first, second = random_batch(0, groups=3), random_batch(1, groups=3)
    sums = add_batch(GroupReturns(jnp.zeros(3), jnp.zeros(3)), first, memory=0.5)
    sums = add_batch(sums, second, memory=0.5)
    for g in range(3):
        a, b = (np.asarray(batch.reward)[np.asarray(batch.group) == g] for batch in (first, second))
        assert sums.returns[g] == pytest.approx((a.sum() / 2 + b.sum()) / (a.size / 2 + b.size), abs=1e-6)


def test_streams_sum_to_the_reward():
    batch = random_batch(3, groups=3)
    streams = np.asarray(group_rewards(batch, 3))
    np.testing.assert_array_equal(streams.sum(-1), batch.reward)
    for g in range(3):
        np.testing.assert_array_equal(streams[..., g], np.where(batch.group == g, batch.reward, 0))


@pytest.mark.parametrize("method", METHODS, ids=["max-min-ppo", "ggf-ppo"])
def test_the_advantage_is_the_weighted_sum_over_groups(method):
    of_group = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    raw = np.concatenate([of_group.sum(1, keepdims=True), of_group], 1)
    weights = np.asarray(method.weights(jnp.asarray(RETURNS)))
    assert weights.mean() == pytest.approx(1.0)
    assert (np.argsort(-weights) == np.argsort(RETURNS)).all()  # the lower the return, the higher the weight
    got = method.advantage(state_of(RETURNS), jnp.asarray(raw), ())
    np.testing.assert_allclose(got, standardised(of_group @ weights), atol=1e-5)


@pytest.mark.parametrize("method", EQUAL, ids=["max-min-ppo", "ggf-ppo"])
def test_with_equal_weights_the_advantage_is_the_plain_one(method):
    raw = np.random.default_rng(1).normal(size=(9, 4)).astype(np.float32)
    got = method.advantage(state_of(RETURNS), jnp.asarray(raw), ())
    np.testing.assert_allclose(got, standardised(raw[:, 0]), atol=1e-5)


@pytest.mark.parametrize("method", METHODS, ids=["max-min-ppo", "ggf-ppo"])
def test_the_hooks_carry_the_returns_of_the_newest_batches(method):
    batch = random_batch(4, groups=3)
    start = method.init(jax.random.key(0), THREE, 3)
    state, _ = method.learn(jax.random.key(0), start, batch)
    np.testing.assert_array_equal(state.returns, add_batch(start, batch, 0.9).returns)
    described = method.describe(state)
    np.testing.assert_array_equal(described["group_weights"], method.weights(state.returns))
    np.testing.assert_array_equal(described["group_rewards"], state.returns)
