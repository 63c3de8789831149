"""Many copies together do what one copy does alone, step by step, and are reset when they end."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.methods.hooks import Transitions
from bisimulator.solvers import rollout as rollouts
from bisimulator.solvers.rollout import batch_logs, rollout, start, step, step_keys

ENVS, LENGTH, HORIZON, POPULATION = 3, 12, 7, 4


@pytest.fixture(scope="module")
def env():
    """College: episodes end by termination (everybody admitted) and by truncation."""
    return bisimulator.make("college", population=POPULATION, horizon=HORIZON)


def keys_of(seeds):
    return jnp.stack([jax.random.key(s) for s in seeds])


def act(theta, keys, obs):
    """Every seed admits with its own probability; one key for each seed and step."""
    draw = jax.vmap(lambda key: jax.random.uniform(key, obs.shape[1:2]))(keys)
    return (draw < jnp.broadcast_to(theta[:, None], draw.shape)).astype(jnp.int32)


def widened(params, seeds):
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (seeds, *x.shape)), params)


@partial(jax.jit, static_argnums=(0, 3))
def begin(scenario, params, seeds, num_envs):
    return start(scenario, seeds, widened(params, seeds.shape[0]), num_envs)


@partial(jax.jit, static_argnums=0)
def one(scenario, params, copies, action):
    keys = step_keys(copies, copies.t)
    return step(scenario, keys, copies, action, widened(params, action.shape[0]))


@partial(jax.jit, static_argnums=0)
def play(scenario, params, seeds, admit):
    """(copies at the start, copies at the end, transitions)"""
    wide = widened(params, seeds.shape[0])
    k_start, k_act = jnp.moveaxis(jax.vmap(jax.random.split)(seeds), 1, 0)
    copies = start(scenario, k_start, wide, ENVS)
    after, batch = rollout(scenario, copies, act, admit, k_act, wide, LENGTH)
    return copies, after, batch


SEEDS, ADMIT = (5, 6), (0.7, 0.2)


@pytest.fixture(scope="module")
def played(env):
    return play(env.scenario, env.params, keys_of(SEEDS), jnp.array(ADMIT))


def test_transitions_have_seeds_then_time_then_copies_in_front(played, env):
    _, _, batch = played
    lead = (len(SEEDS), LENGTH, ENVS)
    for name in ("action", "reward", "terminated", "truncated", "group", "qualified"):
        assert getattr(batch, name).shape == lead
    for name in ("obs", "next_obs", "next_self_obs"):
        assert getattr(batch, name).shape == (*lead, env.observation_size)


def test_a_seeds_transitions_do_not_depend_on_the_other_seeds(played, env):
    _, _, together = played
    _, _, alone = play(env.scenario, env.params, keys_of(SEEDS[1:]), jnp.array(ADMIT[1:]))
    jax.tree.map(lambda all_, one: np.testing.assert_array_equal(all_[1], one[0]), together, alone)


def test_every_copy_is_the_core_environment_step_by_step(played, env):
    """Each copy's own key, folded with the time, drives `core`'s step; between resets nothing else happens."""
    copies, _, batch = played
    batch = jax.tree.map(np.asarray, batch)
    one_step, observe = jax.jit(env.step), jax.jit(env.observe)
    ends = np.asarray(batch.terminated | batch.truncated)
    for s in range(len(SEEDS)):
        for e in range(ENVS):
            state = jax.tree.map(lambda x, s=s, e=e: x[s, e], copies.state)
            first_end = int(ends[s, :, e].argmax())
            assert ends[s, first_end, e]
            for t in range(first_end + 1):
                np.testing.assert_allclose(batch.obs[s, t, e], observe(state), atol=1e-6)
                key = jax.random.fold_in(copies.key[s, e], t)
                state, now = one_step(key, state, batch.action[s, t, e])
                assert float(batch.reward[s, t, e]) == float(now.reward)
                assert int(batch.group[s, t, e]) == int(now.group)
                assert bool(batch.terminated[s, t, e]) == bool(now.terminated)
                cut = t + 1 == np.ceil((e + 1) * HORIZON / ENVS)
                assert bool(batch.truncated[s, t, e]) == bool(now.truncated or (cut and not now.terminated))
                np.testing.assert_allclose(batch.next_obs[s, t, e], now.obs, atol=1e-6)
                np.testing.assert_allclose(batch.next_self_obs[s, t, e], now.next_self_obs, atol=1e-6)


def test_both_ways_to_end_occur_and_observations_follow_each_other_within_an_episode(played):
    _, _, batch = played
    assert np.asarray(batch.terminated).any()
    assert np.asarray(batch.truncated).any()
    goes_on = ~np.asarray(batch.terminated | batch.truncated)[:, :-1]
    following = np.asarray(batch.obs)[:, 1:]
    np.testing.assert_array_equal(following[goes_on], np.asarray(batch.next_obs)[:, :-1][goes_on])


def test_a_copy_that_ends_starts_anew_and_the_others_go_on(env):
    copies = begin(env.scenario, env.params, keys_of([0]), 2)
    for t in range(POPULATION):  # the first copy admits everybody, the second nobody
        copies, now = one(env.scenario, env.params, copies, jnp.array([[1, 0]]))
        assert now.terminated.tolist() == [[t == POPULATION - 1, False]]
    assert copies.state.t.tolist() == [[0, POPULATION]]
    assert copies.state.remaining.tolist() == [[POPULATION, POPULATION]]
    np.testing.assert_array_equal(copies.obs, jax.jit(jax.vmap(jax.vmap(env.observe)))(copies.state))
    for _ in range(HORIZON - POPULATION):
        copies, now = one(env.scenario, env.params, copies, jnp.array([[0, 0]]))
    assert now.truncated.tolist() == [[False, True]]
    assert copies.state.t.tolist() == [[HORIZON - POPULATION, 0]]


def test_the_first_episodes_are_cut_so_that_copies_are_of_evenly_spread_ages(env):
    copies = begin(env.scenario, env.params, keys_of([0]), ENVS)
    ages, truncated = [], []
    for _ in range(3 * HORIZON):  # nobody is admitted, so no episode ends by itself before the horizon
        copies, now = one(env.scenario, env.params, copies, jnp.zeros((1, ENVS), jnp.int32))
        ages.append(copies.state.t[0].tolist())
        truncated.append(now.truncated[0].tolist())
    assert ages[HORIZON - 1 :: HORIZON] == [[4, 2, 0]] * 3
    assert np.sum(truncated, 0).tolist() == [3, 3, 3]
    assert np.argmax(truncated, 0).tolist() == [2, 4, 6]


def test_each_reset_brings_other_people(played):
    _, after, _ = played
    people = np.asarray(after.state.people).reshape(len(SEEDS) * ENVS, -1)
    assert len(np.unique(people, axis=0)) == len(people)


def test_a_reset_does_not_use_the_steps_random_numbers_again(env):
    """One key, one use: the key that resets is none of those that the step's own draws are split from."""
    copies = begin(env.scenario, env.params, keys_of([0]), 2)
    for _ in range(POPULATION):
        before = copies
        copies, now = one(env.scenario, env.params, copies, jnp.array([[1, 0]]))
    assert now.terminated[0, 0]
    used = jax.random.fold_in(before.key[0, 0], before.t)
    others = jax.jit(jax.vmap(env.reset))(jax.random.split(used, 4))
    assert not (np.asarray(others.people) == np.asarray(copies.state.people[0, 0])).all((1, 2)).any()


def test_starts_that_are_prepared_for_all_steps_are_those_of_each_step(monkeypatch):
    life = bisimulator.make("lending", population=20, horizon=60).life()
    lives, seeds = (life.scenario, life.params), keys_of(SEEDS)
    prepared = play(*lives, seeds, jnp.array(ADMIT))
    assert rollouts.is_small(prepared[0])
    monkeypatch.setattr(rollouts, "_SMALL", 0)
    one_by_one = play.__wrapped__(*lives, seeds, jnp.array(ADMIT))
    assert prepared[2].terminated.any()
    for name in ("obs", "action", "reward", "terminated", "group", "next_obs"):
        np.testing.assert_array_equal(getattr(prepared[2], name), getattr(one_by_one[2], name))


def test_logs_are_sums_over_a_seeds_decisions():
    rng = np.random.default_rng(0)
    lead, groups = (2, 5, 3), 3
    action, group = rng.integers(0, 2, lead), rng.integers(0, groups, lead)
    qualified, reward = rng.random(lead) < 0.5, rng.normal(size=lead)
    obs, flag = np.zeros((*lead, 1)), np.zeros(lead, bool)
    batch = Transitions(
        *map(jnp.asarray, (obs, action, action == 1, reward, obs, flag, flag, group, qualified, obs))
    )
    logs = batch_logs(batch, {"loss": jnp.array([1.0, 2.0])}, groups)
    for s in range(2):
        np.testing.assert_allclose(logs["reward"][s], reward[s].sum(), rtol=1e-5)
        assert logs["approved"][s] == action[s].sum()
        for g in range(groups):
            who = qualified[s] & (group[s] == g)
            assert logs["qualified"][s, g] == who.sum()
            assert logs["approved_qualified"][s, g] == (who & (action[s] == 1)).sum()
    assert logs["loss"].tolist() == [1, 2]
