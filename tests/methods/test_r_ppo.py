"""The reward of R-PPO."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.methods._running_gaps import running_gaps
from bisimulator.methods.r_ppo import Config, build
from tests.methods.batches import random_batch

ENV = bisimulator.make("lending", population=6, horizon=5)


def test_the_reward_is_reduced_by_gaps_above_the_threshold():
    method, batch = build(Config(zeta=3.0, omega=0.4), ENV), random_batch(0)
    state = method.init(jax.random.key(0), ENV, 3)
    state, gap = method.learn(jax.random.key(0), state, batch)
    np.testing.assert_array_equal(gap, running_gaps(jnp.zeros((3, 2, 2)), batch)[2])
    penalty = batch.reward - method.reward(state, batch, gap)
    np.testing.assert_allclose(penalty, np.where(gap >= 0.4, 3.0 * gap, 0.0), atol=1e-6)
    assert 0 < (penalty > 0).sum() < penalty.size


def test_without_weight_the_reward_is_the_plain_one():
    method, batch = build(Config(zeta=0.0), ENV), random_batch(1)
    state, extras = method.learn(jax.random.key(0), method.init(jax.random.key(0), ENV, 3), batch)
    np.testing.assert_array_equal(method.reward(state, batch, extras), batch.reward)


@pytest.mark.parametrize("wrong", [{"zeta": -1}, {"omega": 2}])
def test_wrong_options_raise_an_error(wrong):
    with pytest.raises(ValueError, match="must"):
        Config(**wrong)
