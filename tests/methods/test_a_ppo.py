"""The advantage of A-PPO."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.methods.a_ppo import Config, build, unit_scale
from bisimulator.methods.hooks import standardise
from tests.methods.batches import random_batch

ENV = bisimulator.make("lending", population=6, horizon=5)
ADVANTAGES = jnp.asarray(np.random.default_rng(0).normal(size=(8, 1)), jnp.float32)


def test_without_weights_the_advantage_is_the_plain_one():
    method = build(Config(beta_vt=0.0, beta_div=0.0), ENV)
    gaps = jnp.linspace(0, 1, 8), jnp.linspace(1, 0, 8)
    np.testing.assert_allclose(
        method.advantage((), ADVANTAGES, gaps), standardise(ADVANTAGES[:, 0]), atol=1e-5
    )


def test_the_terms_agree_with_the_formula():
    before = jnp.array([0.0, 0.2, 0.3, 0.001, 0.5, 0.4, 0.0, 0.1])
    after = jnp.array([0.1, 0.1, 0.3, 0.003, 0.6, 0.2, 0.0, 0.2])
    vt = np.minimum(0, 0.005 - np.asarray(after))
    div = np.where(np.asarray(after) > 0.005, np.minimum(0, np.asarray(before - after)), 0)

    def scale(x):
        return (x - x.min()) / (x.max() - x.min())

    expected = scale(np.asarray(ADVANTAGES[:, 0])) + 0.3 * scale(vt) + 0.7 * scale(div)
    expected = (expected - expected.mean()) / expected.std()
    got = build(Config(beta_vt=0.3, beta_div=0.7), ENV).advantage((), ADVANTAGES, (before, after))
    np.testing.assert_allclose(got, expected, atol=1e-4)


def test_of_two_equal_decisions_the_one_that_widens_the_gap_is_worth_less():
    gaps = jnp.array([0.3, 0.3]), jnp.array([0.4, 0.2])
    advantage = build(Config(), ENV).advantage((), jnp.ones((2, 1)), gaps)
    assert advantage[0] < advantage[1]


def test_a_constant_is_scaled_to_zero():
    assert unit_scale(jnp.full(3, 2.5)).tolist() == [0, 0, 0]


def test_the_state_counts_every_environment():
    method = build(Config(), ENV)
    state, (before, after) = method.learn(
        jax.random.key(0), method.init(jax.random.key(0), ENV, 3), random_batch(0)
    )
    assert state.shape == (3, 2, 2)
    assert before.shape == after.shape == (12, 3)


@pytest.mark.parametrize("wrong", [{"beta_vt": -1}, {"beta_div": float("nan")}, {"omega": 2}])
def test_wrong_options_raise_an_error(wrong):
    with pytest.raises(ValueError, match="must"):
        Config(**wrong)
