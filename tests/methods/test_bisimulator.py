"""The hooks of the Bisimulator one by one, and the effect of a short training on recall."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import registry
from bisimulator.bisim.reward import gauge_offset, j_rew
from bisimulator.evaluation import metric_columns
from bisimulator.jobs.spec import make_spec
from bisimulator.methods.bisimulator import Config, build
from bisimulator.methods.hooks import Transitions
from bisimulator.policies.rules import rule_policy
from bisimulator.simulation import episode_by_steps
from bisimulator.solvers import evaluator, trainer
from bisimulator.solvers.ppo import PPOConfig
from tests.matrix import some

SMALL = Config(
    hidden=(8,), psi_hidden=(8,), dynamics_steps=12, psi_first_steps=20, psi_steps=2, psi_minibatch=32
)
HORIZON = 120


@pytest.fixture(scope="module")
def env():
    return bisimulator.make("lending", population=20, horizon=HORIZON)


def fake_batch(env, lead=(16, 8), seed=0):
    """A rollout in which the second group has lower scores, so it defaults more often."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, lead)
    score = (rng.integers(0, 4, lead) + 3 * (group == 0)) / 6
    rest = np.zeros((*lead, env.observation_size - 3))
    obs = jnp.asarray(np.concatenate([score[..., None], np.eye(2)[group], rest], -1), jnp.float32)
    action = jnp.asarray(rng.integers(0, 2, lead))
    qualified, flag = jnp.asarray(rng.random(lead) < 0.3 + 0.6 * score), jnp.zeros(lead, bool)
    reward = jnp.where(action == 1, jnp.where(qualified, 1.0, -1.0), 0.0)
    return Transitions(obs, action, action == 1, reward, obs, flag, flag, jnp.asarray(group), qualified, obs)


ABOUT_ALL_GROUPS = {
    "attention": {"groups": 3, "units": 4},
    "infectious": {},
    "college-threshold": {"costs": (2.0, 5.0)},
}


def rollout_batch(env, lead=(12, 4)):
    """A rollout (T, E) with actions at random, as a solver collects it."""
    act = rule_policy("random", env).bind(env)

    def one(key):
        decisions, _ = episode_by_steps(env.scenario, key, act, env.params, lead[0] + 1)
        return decisions

    played = jax.jit(jax.vmap(one, out_axes=1))(jax.random.split(jax.random.key(0), lead[1]))
    now, after = jax.tree.map(lambda x: x[:-1], played), jax.tree.map(lambda x: x[1:], played)
    flag = jnp.zeros(lead, bool)
    return Transitions(
        now.obs, now.action, flag, now.reward, after.obs, flag, flag, now.group, flag, after.obs, now.tallies
    )


@pytest.mark.parametrize("name", some(ABOUT_ALL_GROUPS, ["college-threshold"]))
def test_steps_about_all_groups_are_corrected_by_their_decisions_on_each_of_them(name):
    """J_rew of the single decisions falls, and the reward of a step is corrected by the mean of their corrections."""
    env = bisimulator.make(name, **ABOUT_ALL_GROUPS[name])
    method = build(dataclasses.replace(SMALL, reward_steps=80, learning_rate=0.003, gauge="free"), env)
    assert method.adapt_at(100) == ()  # no observation dynamics here
    batch = rollout_batch(env)
    state = jax.jit(lambda key: method.init(key, env, 4))(jax.random.key(1))
    nothing = eqx.tree_at(lambda s: s.phi.weights[-1], state, replace_fn=jnp.zeros_like)
    paid = jax.jit(lambda state: method.reward(state, batch, ()))
    np.testing.assert_allclose(paid(nothing), batch.reward, rtol=1e-4, atol=1e-4)
    later, _ = jax.jit(method.learn)(jax.random.key(2), state, batch)
    start, _ = jax.jit(
        dataclasses.replace(method, config=dataclasses.replace(method.config, reward_steps=1)).learn
    )(jax.random.key(2), state, batch)
    assert later.j_rew < 0.8 * start.j_rew

    @jax.jit
    def of_single_decisions(phi):
        split = env.scenario.group_decisions.split
        single = split(batch.obs, batch.action, batch.next_obs, batch.tallies, env.params)
        return jnp.take_along_axis(phi(single.obs), single.action[..., None], -1)[..., 0]

    expected = batch.reward + SMALL.alpha * np.asarray(of_single_decisions(later.phi)).mean(-1)
    np.testing.assert_allclose(paid(later), expected, rtol=1e-4, atol=1e-4)


def test_learning_reduces_j_rew_and_fixes_the_gauge(env):
    method = build(dataclasses.replace(SMALL, reward_steps=60, learning_rate=0.01), env)
    batch = fake_batch(env)
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), batch)
    state = method.init(jax.random.key(0), env, 8)
    after, extras = jax.jit(method.learn)(jax.random.key(1), state, batch)
    loss = jax.jit(
        partial(
            j_rew,
            key=jax.random.key(2),
            obs=flat.obs,
            action=flat.action,
            reward=flat.reward,
            group=flat.group,
            alpha=SMALL.alpha,
            num_groups=2,
        )
    )
    assert float(loss(after.phi)) < 0.5 * float(loss(state.phi))
    assert extras == ()
    offset = jax.jit(partial(gauge_offset, gauge=Config().gauge, num_groups=2))
    expected = offset(after.phi, flat.obs, flat.group)
    np.testing.assert_allclose(after.offset, expected, atol=1e-6)
    # this hook does not change the observation dynamics
    np.testing.assert_array_equal(after.omega, state.omega)
    jax.tree.map(np.testing.assert_array_equal, after.psi, state.psi)


def test_the_penalty_removes_the_correction_of_decisions_that_are_never_made(env):
    """Nobody is rejected, so J_rew does not ask for a correction of rejections."""
    batch = fake_batch(env)
    everybody = dataclasses.replace(batch, action=jnp.ones_like(batch.action))
    sizes = []
    for penalty in (0.0, 1.0):
        method = build(dataclasses.replace(SMALL, reward_steps=60, learning_rate=0.01, penalty=penalty), env)
        state = method.init(jax.random.key(0), env, 8)
        state = eqx.tree_at(lambda s: s.phi.biases[-1], state, replace_fn=lambda bias: bias + 0.3)
        after, _ = jax.jit(method.learn)(jax.random.key(1), state, everybody)
        sizes.append(float(jnp.abs(after.phi(batch.obs)[..., 0]).mean()))
    assert sizes[0] > 0.25
    assert sizes[1] < 0.05


def test_the_correction_is_small_at_the_start(env):
    method, batch = build(SMALL, env), fake_batch(env)
    state = method.init(jax.random.key(0), env, 8)
    np.testing.assert_allclose(method.reward(state, batch, ()), batch.reward, atol=0.25)
    np.testing.assert_array_equal(state.omega, env.params.omega)


def test_reward_only_never_changes_omega(env):
    method = build(dataclasses.replace(SMALL, dynamics_steps=0), env)
    assert method.adapt_at(1000) == ()
    state = method.init(jax.random.key(0), env, 8)
    other = eqx.tree_at(lambda s: s.omega, state, jnp.full((2, 2), 0.5))
    assert method.observe_params(other, env.params) is env.params
    for name in ("ppo-bisimulator-reward", "dqn-bisimulator-reward"):
        assert registry.lookup("method", name).config.dynamics_steps == 0


def test_omega_is_searched_at_the_scheduled_updates(env):
    method = build(dataclasses.replace(SMALL, dynamics_at=(0.5, 0.1, 0.5, 1.0)), env)
    assert method.adapt_at(200) == (20, 100, 200)


def test_the_policy_sees_observations_with_the_omega_of_the_method(env):
    method = build(SMALL, env)
    state = method.init(jax.random.key(0), env, 8)
    omega = jnp.array([[0.5, 1.5], [2.0, 0.0]])
    params = method.observe_params(eqx.tree_at(lambda s: s.omega, state, omega), env.params)
    np.testing.assert_array_equal(params.omega, omega)
    np.testing.assert_array_equal(params.repayment, env.params.repayment)


def accept_most(key, obs):
    return jax.random.bernoulli(key, 0.9, obs.shape[:-1]).astype(jnp.int32)


@partial(jax.jit, static_argnums=(0, 1))
def search(method, scenario, params, keys, state):
    """The states after a search for omega with each of the keys."""
    adapt = partial(method.adapt, act=accept_most, scenario=scenario, params=params, horizon=HORIZON)
    return jax.vmap(lambda key: adapt(key, state))(keys)


def adapted(env, config, keys=2):
    """The state before a search for omega and, for several keys, after it."""
    method = build(config, env)
    state = method.init(jax.random.key(0), env, 8)
    after = search(method, env.scenario, env.params, jax.random.split(jax.random.key(5), keys), state)
    return method, state, after


@pytest.fixture(scope="module")
def improved(env):
    return adapted(env, SMALL)


def test_omega_stays_within_the_bounds_of_the_scenario(env, improved):
    _, state, after = improved
    low, high = env.scenario.omega_bounds
    assert (np.asarray(after.omega) >= low).all()
    assert (np.asarray(after.omega) <= high).all()
    assert (np.asarray(after.omega) != np.asarray(state.omega)).any()
    # this hook does not change the reward correction
    for leaf, before in zip(jax.tree.leaves(after.phi), jax.tree.leaves(state.phi), strict=True):
        np.testing.assert_array_equal(leaf, np.broadcast_to(before, leaf.shape))


def test_the_search_for_omega_is_deterministic_and_depends_on_the_key(env, improved):
    _, _, after = improved
    assert (np.asarray(after.omega[0]) != np.asarray(after.omega[1])).any()
    _, _, again = adapted(env, SMALL)
    np.testing.assert_array_equal(after.omega, again.omega)


def test_the_description_contains_omega_and_the_losses(improved):
    method, _, after = improved
    described = jax.jit(jax.vmap(method.describe))(after)
    np.testing.assert_array_equal(described["omega"], after.omega)
    assert {"omega", "offset", "j_rew", "j_dyn"} <= set(described)


@pytest.mark.long
def test_only_raise_fixes_the_omega_of_the_first_group_and_custom_bounds_hold(env):
    config = dataclasses.replace(SMALL, only_raise=True, omega_bounds=(0.9, 1.1))
    _, state, after = adapted(env, config)
    for omega in np.asarray(after.omega):
        np.testing.assert_array_equal(omega[0], state.omega[0])
        assert (omega[1] != np.asarray(state.omega)[1]).any()
        assert omega.min() >= np.float32(0.9)
        assert omega.max() <= np.float32(1.1)


def test_wrong_hyperparameters_raise_an_error_before_anything_compiles():
    for wrong in (
        {"reward_steps": 0},
        {"quantiles": 0},
        {"dynamics_at": (1.5,)},
        {"hidden": (0,)},
        {"gamma": 1.1},
        {"penalty": -1.0},
        {"learning_rate": float("nan")},
    ):
        with pytest.raises(ValueError, match="must"):
            Config(**wrong)
    with pytest.raises(ValueError, match="Did you mean 'one-sided'"):
        Config(gauge="two-sided")


def test_kappa_may_favour_rejecting():
    assert Config(gauge="kappa", kappa=-0.05).kappa == -0.05


SOLVER = PPOConfig(num_envs=8, rollout=32, minibatch=64, epochs=4, learning_rate=1e-3, hidden=(16,))


def columns_after(env, name, steps, seeds, change=lambda training: training, **config):
    entry = registry.lookup("method", name)
    config = dataclasses.replace(entry.config, **config) if config else None
    solver = trainer.make_solver(entry, env, steps, SOLVER, config)
    training = trainer.train(env, solver, seeds, training=change(trainer.init(env, solver, seeds)))
    outcome = evaluator.evaluate_training(env, solver, training, seeds, episodes=3)
    return {name: values.mean(1) for name, values in metric_columns(env, outcome).items()}


@pytest.mark.long
def test_a_short_training_has_a_much_smaller_recall_gap_than_ppo():
    """2 seeds, 30,000 steps in a small lending: a gap above 0.3 without, less than half of that with it."""
    env, seeds, steps = bisimulator.make("lending", population=100, horizon=1000), (0, 1), 30_000
    plain = columns_after(env, "ppo", steps, seeds)
    fair = columns_after(env, "ppo-bisimulator-reward", steps, seeds, hidden=(16,), learning_rate=3e-3)
    assert plain["recall_gap"].min() > 0.3
    assert fair["recall_gap"].max() < 0.5 * plain["recall_gap"].min()
    assert fair["recall_g2"].min() > plain["recall_g2"].max() + 0.2


def favour_rejecting(training):
    """Make rejecting more attractive by a constant; J_rew is invariant to it, so it is not unlearned."""
    return tuple(
        eqx.tree_at(lambda t: t.method.phi.biases[-1], shard, replace_fn=lambda bias: bias.at[:, 0].add(0.3))
        for shard in training
    )


@pytest.mark.parametrize("method", ["ppo-bisimulator", "dqn-bisimulator-reward"])
def test_a_goal_fixes_the_gauge(method):
    usual, with_goal = make_spec("lending", method), make_spec("lending", method, goal="min-recall=0.9")
    assert usual.config.gauge == "raising"
    assert with_goal.config == dataclasses.replace(usual.config, gauge="centred")
    chosen = make_spec("lending", method, goal="min-recall=0.9", config={"gauge": "kappa"})
    assert chosen.config.gauge == "kappa"


@pytest.mark.long
def test_a_free_gauge_can_collapse_into_reject_all_and_the_default_gauge_does_not():
    """The seeds and the initial correction are the same; if all rewards are 0, groups are trivially bisimilar."""
    env, seeds, steps = bisimulator.make("college", population=200, horizon=200), (0, 1), 30_000
    run = partial(columns_after, env, "ppo-bisimulator-reward", steps, seeds, favour_rejecting, hidden=(16,))
    free, default = run(gauge="free"), run()
    for group in ("g1", "g2"):
        assert free[f"recall_{group}"].max() < 0.05
        assert default[f"recall_{group}"].min() > 0.8
