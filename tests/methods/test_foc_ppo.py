"""The multipliers, advantage and objective of FOC-PPO compared with the formulas in NumPy."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.methods.foc_ppo import Config, State, build
from tests.methods.batches import random_batch

THREE = bisimulator.make("lending", groups=3, population=6, horizon=5)
CONFIG = Config(epsilon=0.05, eta=0.5, max_nu=0.2, memory=0.0)
RAW = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)


def state_of(nu):
    return State(jnp.zeros(3), jnp.ones(3), jnp.asarray(nu, jnp.float32))


@pytest.mark.parametrize(("constrain", "received"), [("approvals", "accepted"), ("reward", "reward")])
def test_every_ordered_pair_of_groups_has_a_multiplier(constrain, received):
    batch, method = random_batch(0, groups=3), build(dataclasses.replace(CONFIG, constrain=constrain), THREE)
    state, _ = method.learn(jax.random.key(0), method.init(jax.random.key(0), THREE, 3), batch)
    returns = [np.asarray(getattr(batch, received))[np.asarray(batch.group) == g].mean() for g in range(3)]
    expected = [[min(max(0.5 * (a - b - 0.05), 0.0), 0.2) for b in returns] for a in returns]
    np.testing.assert_allclose(state.nu, expected, atol=1e-6)
    assert np.asarray(state.nu).sum() > 0
    np.testing.assert_array_equal(method.streams(state, batch).sum(-1), getattr(batch, received))
    np.testing.assert_array_equal(method.describe(state)["group_weights"], state.weights)


def test_the_advantage_is_that_of_the_lagrangian_in_units_of_the_rewards_advantage():
    nu = np.array([[0, 0.5, 0.0], [0, 0, 0], [0.3, 0.1, 0]])
    weights = [1 - 0.5 + 0.3, 1 + 0.5 + 0.1, 1 - 0.3 - 0.1]
    state = state_of(nu)
    np.testing.assert_allclose(state.weights, weights, rtol=1e-6)
    total = (RAW[:, 0] + RAW[:, 1:] @ (np.array(weights) - 1)) / RAW[:, 0].std()
    got = build(CONFIG, THREE).advantage(state, jnp.asarray(RAW), ())
    np.testing.assert_allclose(got, total - total.mean(), atol=1e-5)


def test_without_multipliers_the_advantage_is_the_plain_one():
    got = build(CONFIG, THREE).advantage(state_of(np.zeros((3, 3))), jnp.asarray(RAW), ())
    np.testing.assert_allclose(got, (RAW[:, 0] - RAW[:, 0].mean()) / RAW[:, 0].std(), atol=1e-5)


def test_the_objective_counts_within_the_trust_region_only():
    method = build(Config(temperature=2.0, max_kl=0.02), THREE)
    ratio, advantage = np.array([0.9, 1.1, 1.0, 1.5]), np.array([1.0, -1.0, 2.0, 1.0])
    kl = ratio * np.log(ratio) - ratio + 1
    assert kl[-1] > 0.02 > kl[:-1].max()
    got = method.objective(state_of(np.zeros((3, 3))), jnp.asarray(ratio), jnp.asarray(advantage), 0.2)
    np.testing.assert_allclose(got, np.where(kl <= 0.02, ratio * advantage / 2 - kl, 0), atol=1e-6)


def test_the_mean_of_the_sampled_divergence_is_the_divergence():
    method, advantage = build(Config(temperature=1.0, max_kl=9.0), THREE), jnp.zeros(2)
    old, new = np.array([0.7, 0.3]), np.array([0.5, 0.5])
    got = old @ np.asarray(
        method.objective(state_of(np.zeros((3, 3))), jnp.asarray(new / old), advantage, 0.2)
    )
    assert got == pytest.approx(-(new * np.log(new / old)).sum(), abs=1e-6)


@pytest.mark.parametrize("wrong", [{"epsilon": -1}, {"temperature": 0}, {"max_kl": -1}, {"memory": 2}])
def test_wrong_options_raise_an_error(wrong):
    with pytest.raises(ValueError, match="must"):
        Config(**wrong)
