"""What holds for every registered environment."""

from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator import policies, registry
from bisimulator.core import set_omega
from bisimulator.simulation import episode_by_steps
from tests.matrix import matrix
from tests.small import make_small, some_actions

DOCS = Path(__file__).parents[2] / "docs" / "envs"
POPULATION, HORIZON = 7, 9
HUGE = 10_000_000
MAX_GROUPS = {  # groups in the data of an environment of real people
    "lending-us-2003": 4,
    "lending-uci-default": 2,
    "college-law-school": 2,
}
PARALLEL = [
    name
    for name in registry.names("environment")
    if registry.lookup("environment", name).parallel is not None
]
PERSON_MODEL = [
    name
    for name in registry.names("environment")
    if registry.lookup("environment", name).person_model is not None
]


APPLICANTS = [
    name for name in registry.names("environment") if registry.lookup("environment", name).applicants
]
ALL_GROUPS = [name for name in registry.names("environment") if name not in APPLICANTS]


def small(name, **settings):
    return make_small(name, POPULATION, HORIZON, **settings)


@pytest.fixture(scope="module", params=registry.names("environment"))
def env(request):
    return small(request.param)


@pytest.fixture(scope="module", params=APPLICANTS)
def env_of_applicants(request):
    return small(request.param)


@eqx.filter_jit
def play(scenario, params, key, actions):
    """The first observation, the states after all steps, and the steps."""
    first = scenario.reset(key, params)

    def one(state, x):
        t, action = x
        state, step = scenario.step(jax.random.fold_in(key, t), state, action, params)
        return state, (state, step)

    _, (states, steps) = jax.lax.scan(one, first, (jnp.arange(len(actions)), actions))
    return scenario.observe(first, params), states, steps


def reject_all(env, key=0):
    return play(env.scenario, env.params, jax.random.key(key), some_actions(env, HORIZON))


def test_shapes_and_types_are_those_of_the_contract(env):
    state = jax.eval_shape(env.scenario.reset, jax.random.key(0), env.params)
    after, step = jax.eval_shape(env.scenario.step, jax.random.key(0), state, some_actions(env), env.params)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), after) == jax.tree.map(
        lambda x: (x.shape, x.dtype), state
    )
    size = (env.observation_size,)
    expected = {
        "obs": (size, jnp.float32),
        "reward": ((), jnp.float32),
        "terminated": ((), jnp.bool_),
        "truncated": ((), jnp.bool_),
        "group": ((), jnp.int32),
        "qualified": ((), jnp.bool_),
        "cost": ((), jnp.float32),
        "next_self_obs": (size, jnp.float32),
    }
    assert {name: (getattr(step, name).shape, getattr(step, name).dtype) for name in expected} == expected
    tallies = {} if step.tallies is None else step.tallies
    assert set(tallies) == set(env.scenario.tallies)
    assert {x.shape for x in tallies.values()} <= {(env.num_groups,)}
    people = jax.eval_shape(env.scenario.snapshot, state)
    everybody = (env.params.population,)
    assert people.group.shape == people.true_score.shape == people.observed_score.shape == everybody
    assert jax.eval_shape(env.scenario.observe, state, env.params).shape == size


def test_an_episode_is_deterministic_and_depends_on_the_key(env):
    first, again, other = reject_all(env, 1), reject_all(env, 1), reject_all(env, 2)
    jax.tree.map(np.testing.assert_array_equal, first, again)
    assert (np.asarray(first[2].obs) != np.asarray(other[2].obs)).any()


def test_environments_in_a_batch_agree_with_single_environments(env):
    """Also if they differ in their parameters: a sweep over these is a vmap."""
    keys, actions, horizons = (
        jax.random.split(jax.random.key(4), 3),
        some_actions(env, HORIZON),
        (HORIZON, 3, 5),
    )

    def one(key, horizon):
        return play(env.scenario, with_horizon(env.params, horizon), key, actions)

    together = jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(keys, jnp.array(horizons)))
    for i, horizon in enumerate(horizons):
        jax.tree.map(
            lambda all_, alone, i=i: np.testing.assert_allclose(all_[i], alone, rtol=1e-6),
            together,
            one(keys[i], horizon),
        )
    assert together[2].truncated.sum(-1).tolist() == [HORIZON - horizon + 1 for horizon in horizons]


def with_horizon(params, horizon):
    return eqx.tree_at(lambda p: p.horizon, params, jnp.asarray(horizon, params.horizon.dtype))


def test_the_horizon_truncates_and_does_not_terminate(env):
    _, _, steps = reject_all(env)
    assert np.asarray(steps.truncated).tolist() == [False] * (HORIZON - 1) + [True]
    assert not np.asarray(steps.terminated).any()


@pytest.mark.parametrize(("name", "groups"), matrix(registry.names("environment"), [1, 3, 5]))
def test_any_number_of_groups_is_possible(name, groups):
    groups = min(groups, MAX_GROUPS.get(name, groups))
    env = small(name, groups=groups)
    assert env.num_groups == groups
    check_observations(env)
    if env.scenario.applicants:
        check_score_and_group(env)


def test_observations_lie_in_0_to_1(env):
    check_observations(env)


def check_observations(env):
    first, _, steps = reject_all(env)
    everything = np.concatenate([np.asarray(first)[None], np.asarray(steps.obs)])
    assert everything.shape[-1] == env.observation_size
    assert everything.min() >= 0
    assert everything.max() <= 1


def test_observations_of_applicants_begin_with_score_and_group(env_of_applicants):
    check_score_and_group(env_of_applicants)


@pytest.mark.parametrize("name", ALL_GROUPS)
def test_a_step_about_all_groups_decides_on_nobody_and_adds_up_to_the_reward(name):
    _, _, steps = reject_all(small(name))
    assert {"reward", "supply", "demand"} <= set(steps.tallies)
    assert (np.asarray(steps.group) == -1).all()
    np.testing.assert_allclose(steps.reward, steps.tallies["reward"].sum(-1), rtol=1e-5, atol=1e-6)
    for name in ("supply", "demand"):
        assert (np.asarray(steps.tallies[name]) >= 0).all()


@pytest.mark.parametrize("name", ALL_GROUPS)
def test_a_step_about_all_groups_falls_apart_into_decisions_whose_rewards_add_up(name):
    env = small(name)
    first, _, steps = reject_all(env)
    obs = np.concatenate([np.asarray(first)[None], np.asarray(steps.obs)[:-1]])
    capability = env.scenario.group_decisions
    split = jax.jit(capability.split)(obs, some_actions(env, HORIZON), steps.obs, steps.tallies, env.params)
    single = jax.tree.map(np.asarray, split)
    lead = single.reward.shape
    assert lead[0] == HORIZON
    assert single.obs.shape == (*lead, capability.observation_size(env.params))
    assert single.action.shape == single.group.shape == lead
    assert 0 <= single.action.min() <= single.action.max() < capability.num_actions(env.params)
    assert 0 <= single.obs.min() <= single.obs.max() <= 1
    np.testing.assert_array_equal(single.obs[..., 1 : 1 + env.num_groups].argmax(-1), single.group)
    for g in range(env.num_groups):
        of_group = np.where(single.group == g, single.reward, 0.0).sum(-1)
        np.testing.assert_allclose(of_group, steps.tallies["reward"][:, g], rtol=1e-4, atol=1e-5)


def check_score_and_group(env):
    first, states, steps = reject_all(env)
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
    observed = np.asarray(jax.jit(jax.vmap(env.scenario.snapshot))(states).observed_score)
    assert observed.min() >= 0
    assert observed.max() <= env.params.num_scores - 1


def test_omega_has_one_row_per_group_and_one_column_per_name_and_can_be_set(env):
    low, high = env.omega_bounds
    shape = (env.num_groups, len(env.scenario.omega_names))
    assert env.params.omega.shape == shape
    omega = np.asarray(env.params.omega)
    assert ((low <= omega) & (omega <= high)).all()
    actions = some_actions(env, HORIZON) + (1 if env.scenario.applicants else 0)
    lowest, highest = (np.full(shape, bound, np.float32) for bound in (low, high))
    first, second = (
        play(env.scenario, set_omega(env.params, jnp.asarray(values)), jax.random.key(5), actions)[2]
        for values in (lowest, highest)
    )
    assert first.reward[0] == second.reward[0]  # later people may be others
    np.testing.assert_array_equal(env.with_omega(jnp.asarray(highest)).params.omega, highest)


def test_a_step_does_not_copy_the_population():
    """In the compiled step, arrays of the size of the population are only written in place, by a scatter."""
    for name in APPLICANTS:
        env = bisimulator.make(name, population=100_003)
        state = jax.eval_shape(env.scenario.reset, jax.random.key(0), env.params)
        program = jax.make_jaxpr(env.scenario.step)(jax.random.key(0), state, jnp.int32(1), env.params)
        large = {eqn.primitive.name for eqn in equations(program.jaxpr) if is_large(eqn, 100_003)}
        assert large == {"scatter"}


def equations(jaxpr):
    """All equations, with those of inner programs instead of the calls to them."""
    for eqn in jaxpr.eqns:
        inner = [v.jaxpr for v in eqn.params.values() if hasattr(v, "jaxpr")]
        if inner:
            for program in inner:
                yield from equations(program)
        else:
            yield eqn


def is_large(eqn, population):
    return any(population in getattr(v.aval, "shape", ()) for v in eqn.outvars)


@pytest.mark.long
@pytest.mark.parametrize("name", ["lending-conscientiousness", "college"])
def test_ten_million_people_are_possible(name):
    env = bisimulator.make(name, population=HUGE)
    state = jax.jit(env.reset)(jax.random.key(0))

    def one(state, key):
        return env.step(key, state, jnp.int32(1))

    play_few = jax.jit(lambda state, keys: jax.lax.scan(one, state, keys), donate_argnums=0)
    state, steps = play_few(state, jax.random.split(jax.random.key(1), 5))
    assert int(state.t) == 5
    assert np.isfinite(np.asarray(steps.obs)).all()
    assert env.scenario.snapshot(state).group.shape == (HUGE,)


def test_accepts_maps_every_action_to_a_boolean_and_action_0_rejects(env_of_applicants):
    env = env_of_applicants
    actions = jnp.arange(env.num_actions)
    accepted = env.scenario.accepts(actions)
    assert accepted.dtype == jnp.bool_
    assert accepted.shape == actions.shape
    assert not accepted[0]
    assert accepted.any()
    table = jnp.tile(actions, (2, 3, 1))
    np.testing.assert_array_equal(env.scenario.accepts(table), np.broadcast_to(accepted, table.shape))


@pytest.mark.parametrize("name", PARALLEL)
def test_parallel_episodes_have_the_shapes_of_step_by_step_episodes(name):
    env = bisimulator.make(name, population=POPULATION, horizon=HORIZON)
    act, parallel = policies.accept_all().bind(env), env.scenario.parallel

    def at_once(key):
        return parallel.play(parallel.plan(key, env.params, HORIZON), act, env.params)

    def by_steps(key):
        return episode_by_steps(env.scenario, key, act, env.params, HORIZON)

    key = jax.random.key(0)
    assert shapes(jax.eval_shape(at_once, key)) == shapes(jax.eval_shape(by_steps, key))


@pytest.mark.parametrize("name", PARALLEL)
def test_a_planned_episode_can_be_played_again_with_another_omega(name):
    """The same people come in the same order; with one action for everybody, only observations differ."""
    env = bisimulator.make(name, population=POPULATION, horizon=HORIZON)
    act, parallel = policies.accept_all().bind(env), env.scenario.parallel
    planned = jax.jit(parallel.plan, static_argnums=2)(jax.random.key(0), env.params, HORIZON)
    other = set_omega(env.params, jnp.zeros_like(env.params.omega))
    replay = jax.jit(lambda planned, params: parallel.play(planned, act, params)[0])
    first, second = (replay(planned, params) for params in (env.params, other))
    for field in ("action", "reward", "group", "qualified", "valid"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field))
    assert (np.asarray(first.next_self_obs) != np.asarray(second.next_self_obs)).any()


def shapes(tree):
    return jax.tree.map(lambda x: (x.shape, x.dtype), tree)


@pytest.mark.parametrize("name", PERSON_MODEL)
def test_the_person_model_has_the_numbers_of_the_parameters(name):
    env = bisimulator.make(name, population=POPULATION, horizon=HORIZON)
    params, chain = env.params, env.scenario.person_model.chain(env.params)
    assert (chain.population, chain.horizon, chain.num_scores) == (POPULATION, HORIZON, params.num_scores)
    assert (chain.reward_repaid, chain.reward_default) == tuple(map(float, params.accept_rewards))
    np.testing.assert_allclose(chain.group_sizes, POPULATION * params.group_probs, rtol=1e-6)
    assert chain.initial.shape == (env.num_groups, params.num_scores)
    np.testing.assert_allclose(chain.initial.sum(-1), 1)
    np.testing.assert_allclose(chain.type_probs.sum(), 1)
    assert chain.repayment.shape == (len(chain.type_probs), env.num_groups, params.num_scores)
    assert ((chain.repayment >= 0) & (chain.repayment <= 1)).all()
    if not chain.has_hidden_type:
        np.testing.assert_allclose(chain.repayment[0], params.qualified_probs, rtol=1e-6)


@pytest.mark.parametrize("name", PERSON_MODEL)
def test_the_person_model_moves_scores_and_pays_as_the_environment_does(name):
    env = bisimulator.make(name, population=POPULATION, horizon=HORIZON)
    model, chain = env.scenario.person_model, env.scenario.person_model.chain(env.params)
    params = set_omega(env.params, model.true_omega(env.params))
    assert params.omega.shape == env.params.omega.shape
    first, _, steps = play(env.scenario, params, jax.random.key(0), jnp.ones(HORIZON, int))
    decided_on = np.concatenate([np.asarray(first)[None], np.asarray(steps.obs)[:-1]])
    top, qualified = params.num_scores - 1, np.asarray(steps.qualified)
    before, after = (
        np.rint(obs[:, 0] * top).astype(int) for obs in (decided_on, np.asarray(steps.next_self_obs))
    )
    tables = np.stack([chain.defaulted.table[0], chain.repaid.table[0]])
    assert (tables[qualified.astype(int), np.asarray(steps.group), before, after] > 0).all()
    np.testing.assert_allclose(steps.reward, np.where(qualified, chain.reward_repaid, chain.reward_default))


@pytest.mark.parametrize("name", PERSON_MODEL)
def test_the_person_model_has_the_observations_of_the_environment(name):
    env = bisimulator.make(name, population=POPULATION, horizon=HORIZON)
    observations = np.asarray(env.scenario.person_model.observations(env.params, 3, range(env.num_groups)))
    assert observations.shape == (env.num_groups, env.params.num_scores, 3, 3, env.observation_size)
    first = np.asarray(jax.jit(lambda key: env.observe(env.reset(key)))(jax.random.key(0)))
    group, score = first[1 : 1 + env.num_groups].argmax(), round(first[0] * (env.params.num_scores - 1))
    np.testing.assert_allclose(observations[group, score, 0, 0], first, atol=1e-6)
    one_hot = range(1, 1 + env.num_groups)
    np.testing.assert_array_equal(observations[:, 0, 0, 0, one_hot], np.eye(env.num_groups))
    rest = np.delete(observations, one_hot, -1)  # of which nothing tells groups apart
    np.testing.assert_array_equal(rest, np.broadcast_to(rest[0], rest.shape))


@pytest.mark.parametrize("name", ALL_GROUPS)
def test_nobody_accepts_where_nobody_applies(name):
    env = small(name)
    accepted = env.scenario.accepts(some_actions(env, 2, 3))
    assert accepted.shape == (2, 3)
    assert not accepted.any()
    with pytest.raises(TypeError, match="nobody applies here"):
        _ = env.params.accept_rewards
    with pytest.raises(TypeError, match="nobody applies here"):
        _ = env.params.qualified_probs


def test_every_built_in_environment_is_documented():
    for name, target in registry.BUILT_IN["environment"].items():
        module = target.partition(":")[0].rpartition(".")[2]
        page = (DOCS / f"{module}.md").read_text(encoding="utf-8")
        assert f"`{name}`" in page
