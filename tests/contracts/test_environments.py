"""What holds for every registered environment, whoever writes it."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import registry

DOCS = Path(__file__).parents[2] / "docs" / "envs"
POPULATION, HORIZON = 7, 9
HUGE = 10_000_000
REAL_PEOPLE = {"lending-us-2003": 4}  # groups of which there is data, and no more


@pytest.fixture(scope="module", params=registry.names("environment"))
def env(request):
    return bisimulator.make(request.param, population=POPULATION, horizon=HORIZON)


@eqx.filter_jit
def play(scenario, params, key, actions):
    """First observation, then all steps; the state after each of them."""
    first = scenario.reset(key, params)

    def one(state, x):
        t, action = x
        state, step = scenario.step(jax.random.fold_in(key, t), state, action, params)
        return state, (state, step)

    _, (states, steps) = jax.lax.scan(one, first, (jnp.arange(actions.size), actions))
    return scenario.observe(first, params), states, steps


def rejecting(env, key=0):
    return play(env.scenario, env.params, jax.random.key(key), jnp.zeros(HORIZON, int))


def test_shapes_and_types(env):
    state = jax.eval_shape(env.scenario.reset, jax.random.key(0), env.params)
    after, step = jax.eval_shape(env.scenario.step, jax.random.key(0), state, jnp.int32(1), env.params)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(
        lambda x: (x.shape, x.dtype), state
    )
    size = (env.observation_size,)
    wanted = {
        "obs": (size, jnp.float32),
        "reward": ((), jnp.float32),
        "terminated": ((), jnp.bool_),
        "truncated": ((), jnp.bool_),
        "group": ((), jnp.int32),
        "qualified": ((), jnp.bool_),
        "cost": ((), jnp.float32),
        "next_self_obs": (size, jnp.float32),
    }
    assert {name: (getattr(step, name).shape, getattr(step, name).dtype) for name in wanted} == wanted
    people = jax.eval_shape(env.scenario.snapshot, state)
    assert people.group.shape == people.true_score.shape == people.observed_score.shape == (POPULATION,)
    assert jax.eval_shape(env.scenario.observe, state, env.params).shape == size


def test_the_same_key_gives_the_same_episode_and_another_key_another(env):
    first, again, other = rejecting(env, 1), rejecting(env, 1), rejecting(env, 2)
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert (np.asarray(first[2].obs) != np.asarray(other[2].obs)).any()


def test_side_by_side_gives_what_one_after_the_other_gives(env):
    keys, actions = jax.random.split(jax.random.key(4), 3), jnp.zeros(HORIZON, int)
    together = jax.vmap(lambda k: play(env.scenario, env.params, k, actions))(keys)
    for i in range(3):
        alone = play(env.scenario, env.params, keys[i], actions)
        jax.tree.map(
            lambda all_, one, i=i: np.testing.assert_allclose(all_[i], one, rtol=1e-6), together, alone
        )


def test_the_horizon_truncates_and_does_not_terminate(env):
    _, _, steps = rejecting(env)
    assert np.asarray(steps.truncated).tolist() == [False] * (HORIZON - 1) + [True]
    assert not np.asarray(steps.terminated).any()


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_any_number_of_groups(groups):
    for name in registry.names("environment"):
        if groups > REAL_PEOPLE.get(name, groups):
            continue
        env = bisimulator.make(name, groups=groups, population=POPULATION, horizon=HORIZON)
        assert env.num_groups == groups
        check_observations(env)


def test_observations_begin_with_score_and_group_and_stay_in_range(env):
    check_observations(env)


def check_observations(env):
    first, states, steps = rejecting(env)
    everything = np.concatenate(
        [np.asarray(first)[None], np.asarray(steps.obs), np.asarray(steps.next_self_obs)]
    )
    assert everything.shape[-1] == env.observation_size >= 1 + env.num_groups
    assert everything.min() >= 0
    assert everything.max() <= 1
    one_hot = everything[:, 1 : 1 + env.num_groups]
    np.testing.assert_array_equal(np.sort(one_hot, -1), np.eye(env.num_groups)[[-1] * len(one_hot)])
    decided_on = np.concatenate([np.asarray(first)[None], np.asarray(steps.obs)[:-1]])
    np.testing.assert_array_equal(decided_on[:, 1 : 1 + env.num_groups].argmax(-1), steps.group)
    observed = np.asarray(jax.vmap(env.scenario.snapshot)(states).observed_score)
    assert observed.min() >= 0
    assert observed.max() <= env.params.num_scores - 1


def test_omega_has_a_row_a_group_and_a_column_a_name_and_can_be_set(env):
    low, high = env.omega_bounds
    shape = (env.num_groups, len(env.scenario.omega_names))
    assert env.params.omega.shape == shape
    assert low <= float(env.params.omega.min()) <= float(env.params.omega.max()) <= high
    key, state = jax.random.key(5), env.reset(jax.random.key(5))

    def accepted(omega):
        return env.with_omega(omega).step(key, state, jnp.int32(1))[1].reward

    rewards = jax.jit(jax.vmap(accepted))(jnp.stack([jnp.full(shape, low), jnp.full(shape, high)]))
    assert rewards[0] == rewards[1]


def test_a_step_touches_one_person_not_the_population():
    """In the program of a step everything of the population's size is written in place, by a scatter."""
    for name in registry.names("environment"):
        env = bisimulator.make(name, population=100_003)
        state = jax.eval_shape(env.scenario.reset, jax.random.key(0), env.params)
        program = jax.make_jaxpr(env.scenario.step)(jax.random.key(0), state, jnp.int32(1), env.params)
        large = {eqn.primitive.name for eqn in equations(program.jaxpr) if is_large(eqn, 100_003)}
        assert large == {"scatter"}


def equations(jaxpr):
    """All equations, those of inner programs instead of the calls to them."""
    for eqn in jaxpr.eqns:
        inner = [v.jaxpr for v in eqn.params.values() if hasattr(v, "jaxpr")]
        if inner:
            for program in inner:
                yield from equations(program)
        else:
            yield eqn


def is_large(eqn, population):
    return any(population in getattr(v.aval, "shape", ()) for v in eqn.outvars)


@pytest.mark.parametrize(
    "name", ["lending-conscientiousness", pytest.param("college", marks=pytest.mark.long)]
)
def test_ten_million_people(name):
    env = bisimulator.make(name, population=HUGE)
    state = jax.jit(env.reset)(jax.random.key(0))

    def one(state, key):
        return env.step(key, state, jnp.int32(1))

    few = jax.jit(lambda state, keys: jax.lax.scan(one, state, keys), donate_argnums=0)
    state, steps = few(state, jax.random.split(jax.random.key(1), 5))
    assert int(state.t) == 5
    assert np.isfinite(np.asarray(steps.obs)).all()
    assert env.scenario.snapshot(state).group.shape == (HUGE,)


def test_a_sweep_over_parameters_is_a_vmap(env):
    horizons = jnp.array([HORIZON, 3])
    many = eqx.tree_at(lambda p: p.horizon, env.params, horizons)
    axes = eqx.tree_at(
        lambda p: p.horizon, jax.tree.map(lambda _: None, env.params), 0, is_leaf=lambda x: x is None
    )

    def run(params):
        return play(env.scenario, params, jax.random.key(0), jnp.zeros(4, int))[2].truncated

    assert np.asarray(jax.vmap(run, in_axes=(axes,))(many)).sum(-1).tolist() == [0, 2]


def test_there_is_a_page_about_it():
    for name, target in registry.names("environment").items():
        module = target.partition(":")[0].rpartition(".")[2]
        page = (DOCS / f"{module}.md").read_text(encoding="utf-8")
        assert f"`{name}`" in page
