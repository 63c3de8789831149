"""The life view of lending compared with the exact chain and with the queue."""

from functools import cache, partial

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.envs import _lending_life as life
from bisimulator.exact import expect
from tests.matrix import some

ENVIRONMENTS = {
    "lending": ("lending", {}),
    "hidden trait": ("lending-conscientiousness", {}),
    "fixed group sizes": ("lending-delayed-impact", {"population": 5, "horizon": 12}),
    "table of moves": ("lending-harder", {"population": 5, "horizon": 12}),
    # many people never apply, and several apply often
    "tiny": ("lending", {"population": 5, "horizon": 12, "group_probs": (0.3, 0.7)}),
    "tiny hidden trait": (
        "lending-conscientiousness",
        {"population": 5, "horizon": 12, "reward_default": -2},
    ),
}
SHORT = ("lending", "fixed group sizes", "table of moves", "tiny hidden trait")
LIVES = 40_000
MAX_DECISIONS = 45  # a person with 10 decisions on average has more with a probability below 1e-12


def table(env):
    """A random policy that looks at group and score."""
    return np.random.default_rng(3).random((env.num_groups, env.params.num_scores))


def accept(key, obs, policy):
    group = obs[1 : 1 + len(policy)].argmax()
    score = jnp.round(obs[0] * (policy.shape[1] - 1)).astype(jnp.int32)
    return (jax.random.uniform(key) < policy[group, score]).astype(jnp.int32)


@partial(jax.jit, static_argnames=("scenario", "decisions"))
def play(keys, policy, params, scenario, decisions):
    """(lives, decisions): each decision's observation and result, its time, and whether the life still goes on."""

    def one(key):
        def decide(carry, k):
            state, going = carry
            k_act, k_step = jax.random.split(k)
            obs = scenario.observe(state, params)
            action = accept(k_act, obs, policy)
            after, out = scenario.step(k_step, state, action, params)
            return (after, going & ~out.terminated), (obs, action, out, state, going)

        k_reset, k_decide = jax.random.split(key)
        start = (scenario.reset(k_reset, params), jnp.array(True))
        return jax.lax.scan(decide, start, jax.random.split(k_decide, decisions))[1]

    return jax.vmap(one)(keys)


@cache
def lives(name):
    scenario, settings = ENVIRONMENTS[name]
    env = bisimulator.make(scenario, **settings)
    decisions = min(env.horizon, MAX_DECISIONS)
    keys = jax.random.split(jax.random.key(7), LIVES)
    played = play(keys, jnp.asarray(table(env)), env.params, env.life().scenario, decisions)
    return env, expect(env, table(env)), jax.tree.map(np.asarray, played)


def never(env):
    """The probability that a person never applies."""
    return (1 - 1 / env.params.population) ** env.horizon


def assert_ratio(numerator, denominator, expected):
    """A ratio of sums over lives (n,) agrees with its exact value within 4 standard errors."""
    ratio = numerator.sum() / denominator.sum()
    error = (numerator - ratio * denominator).std() / np.sqrt(len(numerator)) / denominator.mean()
    assert 0 < error < 0.05 * max(abs(expected), 1)
    assert abs(ratio - expected) < 4 * error


def assert_mean(values, expected):
    assert_ratio(values, np.ones(len(values)), expected)


@pytest.mark.parametrize("name", some(ENVIRONMENTS, SHORT))
def test_lives_have_as_many_decisions_as_people_who_apply(name):
    env, _, (_, _, _, _, going) = lives(name)
    number = going.sum(1)
    visits = env.horizon / env.params.population
    assert_mean(number, visits / (1 - never(env)))
    assert_mean(number**2, (visits * (1 - 1 / env.params.population) + visits**2) / (1 - never(env)))


@pytest.mark.parametrize("name", some(ENVIRONMENTS, SHORT))
def test_rewards_groups_and_recalls_agree_with_the_exact_chain(name):
    env, exact, (_, action, out, _, going) = lives(name)
    number = going.sum(1)
    assert_ratio((out.reward * going).sum(1), number, exact.average_return / env.horizon)
    for g in range(env.num_groups):
        of_group = going & (out.group == g)
        repayers = (of_group & out.qualified).sum(1)
        accepted = (of_group & out.qualified & (action == 1)).sum(1)
        assert_ratio(of_group.sum(1), number, exact.applied[g] / env.horizon)
        assert_ratio(accepted, repayers, exact.recall[g])
        assert_ratio(repayers, of_group.sum(1), exact.qualified[g] / exact.applied[g])


@pytest.mark.parametrize("name", some(ENVIRONMENTS, SHORT))
def test_final_scores_agree_with_the_exact_chain(name):
    """People who never apply have no life; their scores are the initial ones."""
    env, exact, (_, _, out, _, going) = lives(name)
    last = going.sum(1) - 1
    each = np.arange(LIVES)
    score = np.round(out.next_self_obs[each, last, 0] * (env.params.num_scores - 1)).astype(int)
    group = out.group[each, last]
    for g in range(env.num_groups):
        start = np.asarray(env.params.initial, float)[g]
        expected = (exact.final_scores[g] - never(env) * start) / (1 - never(env))
        shares = (score[group == g][:, None] == np.arange(env.params.num_scores)).astype(float)
        error = np.sqrt(expected * (1 - expected) / len(shares))
        assert (abs(shares.mean(0) - expected) <= 4 * error + 1e-9).all()


@pytest.mark.parametrize("name", ["tiny", "tiny hidden trait"])
def test_decisions_agree_with_the_queue(name):
    """Observations contain past loans, of which the exact chain knows nothing; times show when people apply."""
    env, _, (obs, _, _, state, going) = lives(name)
    keys = jax.random.split(jax.random.key(8), 20_000)
    queue_obs, _, _, queue_state, _ = play(
        keys, jnp.asarray(table(env)), env.params, env.scenario, env.horizon
    )
    queue_obs, number = np.asarray(queue_obs), going.sum(1)
    for values, in_queue in (
        (obs, queue_obs),
        (obs[..., :1] * obs[..., 1:], queue_obs[..., :1] * queue_obs[..., 1:]),  # correlations with the score
        (obs**2, queue_obs**2),
        (state.t[..., None], np.asarray(queue_state.t)[..., None]),
    ):
        for i in range(values.shape[-1]):
            per_life = (values[..., i] * going).sum(1)
            ratio, episodes = per_life.sum() / number.sum(), in_queue[..., i].mean(1)
            error = np.hypot(
                (per_life - ratio * number).std() / np.sqrt(LIVES) / number.mean(),
                episodes.std() / np.sqrt(len(episodes)),
            )
            assert abs(ratio - episodes.mean()) < 4 * error + 1e-6


@pytest.mark.parametrize("name", some(ENVIRONMENTS, SHORT))
def test_a_life_is_about_one_person(name):
    env, _, (obs, _, out, state, going) = lives(name)
    assert going[:, 0].all()  # at least one decision
    assert not out.truncated.any()
    assert (going & out.terminated).any(1).all()  # every life has ended
    assert ((state.t >= 0) & (state.t < env.horizon))[going].all()
    assert out.terminated[going & (state.t == env.horizon - 1)].all()
    groups = obs[..., 1 : 1 + env.num_groups].argmax(-1)
    assert (groups == groups[:, :1]).all()
    assert (out.group == groups).all()
    # two consecutive decisions are about the same person, and what the person looks like is what comes next
    np.testing.assert_array_equal(out.obs, out.next_self_obs)
    np.testing.assert_array_equal(obs[:, 1:], out.obs[:, :-1])
    np.testing.assert_array_equal(state.person[:, 1:, life.GROUP], state.person[:, :-1, life.GROUP])
    assert (np.diff(state.t, axis=1) >= 1)[going[:, 1:]].all()


def few(env, number=500):
    keys = jax.random.split(jax.random.key(1), number)
    policy = jnp.full((env.num_groups, env.params.num_scores), 0.5)
    return jax.tree.map(np.asarray, play(keys, policy, env.params, env.life().scenario, env.horizon))


@pytest.mark.parametrize("population", [1, 2, 1000])
def test_with_a_horizon_of_one_a_life_is_one_decision(population):
    _, _, out, state, going = few(bisimulator.make("lending", population=population, horizon=1))
    assert going.shape == (500, 1)
    assert out.terminated.all()
    assert (state.t == 0).all()


def test_the_only_person_applies_in_every_step():
    _, _, out, state, going = few(bisimulator.make("lending", population=1, horizon=6))
    assert going.all()
    assert (state.t == np.arange(6)).all()
    assert (out.terminated == (np.arange(6) == 5)).all()


def test_a_snapshot_is_a_population_of_one():
    env = bisimulator.make("lending", population=5, horizon=12).life()
    snapshot = env.scenario.snapshot(jax.jit(env.reset)(jax.random.key(0)))
    assert snapshot.group.shape == snapshot.true_score.shape == snapshot.observed_score.shape == (1,)
    assert snapshot.true_score == snapshot.observed_score


def test_the_observation_has_the_learned_dynamics():
    """Omega changes what the bank sees, as in the queue."""
    omega = jnp.array([[0.0, 0.0], [2.0, 0.5]])
    env = bisimulator.make("lending", population=5, horizon=12).with_omega(omega).life()
    person = jnp.array([3.0, 3.0, 0.0, 0.0, 1.0, 0.0])
    after, out = jax.jit(env.step)(jax.random.key(0), life.LifeState(person, jnp.int32(0)), jnp.int32(1))
    assert float(after.person[life.OBSERVED]) == (5.0 if bool(out.qualified) else 2.5)
    assert float(after.person[life.TRUE]) == (4.0 if bool(out.qualified) else 2.0)


def test_the_clock_of_a_life_is_the_time_of_the_queue():
    env = bisimulator.make("lending", population=5, horizon=12, clock=True).life()
    reset, step = jax.jit(env.reset), jax.jit(env.step)
    for seed in range(4):
        state, ended = reset(jax.random.key(seed)), False
        np.testing.assert_allclose(env.observe(state)[-1], 1 - state.t / 12, atol=1e-6)
        while not ended:
            state, out = step(jax.random.key(100 + seed), state, 1)
            np.testing.assert_allclose(out.obs[-1], max(0, 1 - state.t / 12), atol=1e-6)
            ended = bool(out.terminated)


def test_environments_without_lives_refuse_the_view():
    env = bisimulator.make("college", population=5, horizon=12)
    with pytest.raises(
        ValueError, match=r"'college' has no life view, because people influence each other.*view=\"queue\""
    ):
        env.life()
    with pytest.raises(ValueError, match="'college' has no life view"):
        env.in_view("life")
    assert env.in_view("queue") is env


def test_an_unknown_view_suggests_the_closest():
    with pytest.raises(ValueError, match=r"Unknown view 'lif'\. Did you mean 'life'\?"):
        bisimulator.make("lending").in_view("lif")


def test_the_life_view_keeps_name_parameters_and_settings():
    env = bisimulator.make("lending", population=5, horizon=12)
    seen = env.in_view("life")
    assert (seen.name, seen.params, seen.settings) == (env.name, env.params, env.settings)
    assert seen.scenario is env.scenario.life
    assert seen.num_actions == env.num_actions


def test_gymnasium_plays_a_life():
    env = gymnasium.make("bisimulator/LendingLife-v0", population=5, horizon=12)
    env.reset(seed=0)
    for _ in range(12):
        _, _, terminated, truncated, info = env.step(1)
        assert not truncated
        if terminated:
            break
    assert terminated
    assert "outcome" in info


def test_what_is_left_of_the_episode_is_what_a_clock_shows():
    env = bisimulator.make("lending", population=5, horizon=12, clock=True).in_view("life")
    for seed in range(5):
        state = env.reset(jax.random.key(seed))
        for k in jax.random.split(jax.random.key(seed), 4):
            before = env.observe(state)[-1]
            state, out = env.step(k, state, jnp.int32(1))
            np.testing.assert_allclose(out.remaining, [before, out.obs[-1]], rtol=1e-6)
            if out.terminated:
                assert out.remaining[1] == 0
                break
