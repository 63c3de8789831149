"""The dual ascent and the advantage of Lag-PPO."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.jobs.spec import make_spec
from bisimulator.methods.hooks import standardise
from bisimulator.methods.lag_ppo import Config, State, build
from tests.methods.batches import random_batch

TWO = bisimulator.make("lending", population=6, horizon=5)
THREE = bisimulator.make("lending", groups=3, population=6, horizon=5)


def state_of(returns, dual):
    return State(jnp.asarray(returns), jnp.ones(len(returns)), jnp.float32(dual))


@pytest.mark.parametrize(("constrain", "received"), [("approvals", "accepted"), ("reward", "reward")])
def test_the_multiplier_grows_with_the_gap_between_what_groups_receive(constrain, received):
    batch = random_batch(0)
    method = build(Config(constrain=constrain, epsilon=0.01, eta=0.5, memory=0.0), TWO)
    state, _ = method.learn(jax.random.key(0), method.init(jax.random.key(0), TWO, 3), batch)
    means = [float(getattr(batch, received)[batch.group == g].mean()) for g in range(2)]
    np.testing.assert_allclose(state.returns, means, atol=1e-6)
    assert state.dual == pytest.approx(max(0, 0.5 * (abs(means[0] - means[1]) - 0.01)), abs=1e-6)
    assert state.dual > 0


@pytest.mark.parametrize(("epsilon", "expected"), [(5.0, 0.0), (0.0, 0.7)])
def test_the_multiplier_stays_between_zero_and_its_bound(epsilon, expected):
    method = build(Config(epsilon=epsilon, eta=100.0, max_lambda=0.7), TWO)
    state, _ = method.learn(jax.random.key(0), method.init(jax.random.key(0), TWO, 3), random_batch(0))
    assert state.dual == pytest.approx(expected)


def test_without_a_multiplier_the_advantage_is_the_plain_one():
    raw = jnp.asarray(np.random.default_rng(0).normal(size=(9, 3)), jnp.float32)
    method = build(Config(), TWO)
    np.testing.assert_allclose(
        method.advantage(state_of([1.0, 0.0], 0.0), raw, ()), standardise(raw[:, 0]), atol=1e-6
    )


def test_the_advantage_trades_the_highest_group_for_the_lowest():
    raw = jnp.asarray(np.random.default_rng(1).normal(size=(9, 4)), jnp.float32)
    method = build(Config(), THREE)
    got = method.advantage(state_of([0.1, 0.9, -0.2], 2.0), raw, ())
    np.testing.assert_allclose(got, standardise(raw[:, 0] - 2 * (raw[:, 2] - raw[:, 3])), atol=1e-5)


def test_the_ratio_standardises_each_advantage_and_divides_by_one_plus_the_multiplier():
    raw = jnp.asarray(np.random.default_rng(1).normal(size=(9, 3)), jnp.float32)
    got = build(Config(combine="ratio"), TWO).advantage(state_of([0.9, 0.1], 2.0), raw, ())
    wanted = (standardise(raw[:, 0]) - 2 * standardise(raw[:, 1] - raw[:, 2])) / 3
    np.testing.assert_allclose(got, wanted, atol=1e-5)


def test_a_penalty_in_the_reward_reweights_the_groups_and_needs_no_streams():
    batch, method = random_batch(2), build(Config(constrain="reward", penalty="reward"), TWO)
    got = method.reward(state_of([0.1, 0.9], 0.5), batch, ())
    np.testing.assert_allclose(got, batch.reward * jnp.where(batch.group == 1, 0.5, 1.5), atol=1e-6)
    assert method.num_streams(TWO) == method.streams(None, batch).shape[-1] == 0
    of_approvals = build(Config(penalty="reward"), TWO).reward(state_of([0.1, 0.9], 0.5), batch, ())
    wanted = batch.reward - batch.accepted * jnp.where(batch.group == 1, 0.5, -0.5)
    np.testing.assert_allclose(of_approvals, wanted, atol=1e-6)
    raw = jnp.arange(4.0)[:, None]
    np.testing.assert_allclose(method.advantage(None, raw, ()), standardise(raw[:, 0]), atol=1e-6)


@pytest.mark.parametrize("ended", [False, True])
def test_an_ascent_per_episode_waits_for_its_end(ended):
    batch = random_batch(0)
    flags = jnp.full_like(batch.truncated, ended)
    batch = dataclasses.replace(batch, terminated=jnp.zeros_like(flags), truncated=flags)
    method = build(Config(epsilon=0.0, eta=1.0, ascent="episode"), TWO)
    state, _ = method.learn(jax.random.key(0), method.init(jax.random.key(0), TWO, 3), batch)
    assert (state.dual > 0) == ended


@pytest.mark.parametrize(("constrain", "received"), [("approvals", "accepted"), ("reward", "reward")])
def test_streams_sum_to_what_all_groups_receive(constrain, received):
    batch, method = random_batch(3, groups=3), build(Config(constrain=constrain), THREE)
    streams = method.streams(None, batch)
    assert method.num_streams(THREE) == streams.shape[-1] == 3
    np.testing.assert_array_equal(streams.sum(-1), getattr(batch, received))


@pytest.mark.parametrize(("scenario", "view"), [("lending", "life"), ("college", "queue")])
def test_it_is_trained_on_lives_where_there_are_any(scenario, view):
    assert make_spec(scenario, "lag-ppo").view == view


@pytest.mark.parametrize("wrong", [{"epsilon": -1}, {"eta": float("nan")}, {"max_lambda": -1}, {"memory": 2}])
def test_wrong_options_raise_an_error(wrong):
    with pytest.raises(ValueError, match="must"):
        Config(**wrong)


def test_unknown_ways_to_penalise_are_explained():
    with pytest.raises(ValueError, match=r"Unknown penalty 'x'. Known: advantage, reward"):
        Config(penalty="x")
