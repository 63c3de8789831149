"""Hooks that a method does not override do nothing."""

import jax
import jax.numpy as jnp
import numpy as np

from bisimulator.methods.hooks import LearnedMethod, Method, Plain, Transitions, standardise
from bisimulator.policies import NoConfig
from tests import probes

LEAD = (4, 3)


def batch():
    obs, flag = jnp.zeros((*LEAD, 2)), jnp.zeros(LEAD, bool)
    whole, reward = jnp.zeros(LEAD, jnp.int32), jnp.arange(12.0).reshape(LEAD)
    return Transitions(obs, whole, flag, reward, obs, flag, flag, whole, flag, obs)


def test_the_plain_method_changes_nothing():
    method, env = Method(), probes.probe(probes.CONSTANT)
    key, state = jax.random.key(0), jnp.array([1.0, 2.0])
    assert method.init(key, env, 8) == ()
    assert method.learn(key, state, batch()) == (state, ())
    np.testing.assert_array_equal(method.reward(state, batch(), ()), batch().reward)
    assert method.num_streams(env) == 0
    assert method.streams(state, batch()).shape == (*LEAD, 0)
    assert method.observe_params(state, env.params) is env.params
    assert method.adapt_at(100) == ()
    act = lambda key, obs: jnp.zeros(obs.shape[:-1], jnp.int32)  # noqa: E731
    assert method.adapt(key, state, act, env.scenario, env.params, 5) is state
    assert method.describe(state) == {}


def test_the_default_advantage_is_that_of_the_reward_standardised():
    advantages = jnp.array([[1.0, 9.0], [3.0, 9.0], [5.0, -9.0]])
    got = np.asarray(Method().advantage((), advantages, ()))
    np.testing.assert_allclose(got, [-(1.5**0.5), 0, 1.5**0.5], rtol=1e-5)


def test_the_default_objective_is_clipped():
    ratio, advantage = jnp.array([0.5, 1.5, 0.5, 1.5, 1.1]), jnp.array([1.0, 1.0, -1.0, -1.0, 2.0])
    got = Method().objective((), ratio, advantage, 0.2)
    np.testing.assert_allclose(got, [0.5, 1.2, -0.8, -1.5, 2.2], rtol=1e-6)


def test_standardising_equal_numbers_does_not_divide_by_zero():
    np.testing.assert_array_equal(standardise(jnp.full(4, 7.0)), np.zeros(4))


def test_equal_methods_are_equal_and_hashable_so_that_compiled_programs_are_cached():
    assert Plain() == Plain()
    assert hash(Plain()) == hash(Plain())
    entry = LearnedMethod("a line", "", "ppo")
    assert entry.config == NoConfig()
    assert entry.build(entry.config, probes.probe(probes.CONSTANT)) == Plain()
