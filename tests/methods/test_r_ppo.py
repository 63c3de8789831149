"""The reward of R-PPO."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.jobs.spec import make_spec
from bisimulator.methods._running_gaps import running_gaps
from bisimulator.methods.hooks import Transitions
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


def test_only_what_exceeds_omega_is_penalised_with_excess():
    """In attention the authors add zeta * min(0, omega - gap)."""
    env = bisimulator.make("attention")
    method = build(Config(zeta=10.0, omega=0.05, excess=True), env)
    lead = (3, 2)
    flag, zeros = jnp.zeros(lead, bool), jnp.zeros(lead)
    batch = Transitions(zeros, zeros, flag, zeros + 1, zeros, flag, flag, zeros, flag, zeros)
    gap = jnp.array([[0.0, 0.05], [0.06, 0.2], [1.0, 0.04]])
    expected = 1 + 10 * np.minimum(0, 0.05 - np.asarray(gap))
    np.testing.assert_allclose(method.reward(jnp.zeros((2, 5, 2)), batch, gap), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("scenario", "method", "options"),
    [
        ("attention-harder", "r-ppo", {"zeta": 20.0, "omega": 0.05, "excess": True}),
        ("infectious", "r-ppo", {"zeta": 0.1, "omega": 0.05, "excess": False}),
        ("lending", "r-ppo", {"zeta": 2.0, "omega": 0.005, "excess": False}),
        ("attention", "a-ppo", {"beta_vt": 0.15, "beta_div": 0.15, "omega": 0.05}),
        ("attention-harder", "elbert", {"a": 20_000.0, "beta": 20.0, "memory": 0.0}),
        ("infectious-harder", "elbert", {"a": 50.0, "beta": 20.0, "memory": 0.0}),
    ],
)
def test_scenarios_have_the_authors_defaults(scenario, method, options):
    assert dataclasses.asdict(make_spec(scenario, method).config) == options


def test_options_change_the_defaults_of_the_scenario():
    config = make_spec("attention", "r-ppo", config={"zeta": 5.0}).config
    assert config == Config(zeta=5.0, omega=0.05, excess=True)
