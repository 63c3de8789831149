"""Lending compared with a NumPy implementation, and the checks of its parameters."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bisimulator
from bisimulator import policies
from bisimulator.envs import _lending_params as lending_params
from bisimulator.envs import _lending_people, lending
from bisimulator.envs import _parallel_rounds as parallel_rounds
from bisimulator.envs._lending_people import DEFAULTED, GROUP, OBSERVED, REPAID, TRUE
from bisimulator.simulation import episode
from tests.messages import refused

POPULATION, STEPS = 4, 25


@jax.jit
def play(key, params, actions):
    """The state before each step, the results of each step, the last state and the first observation."""

    def one(state, x):
        t, action = x
        after, out = lending.step(jax.random.fold_in(key, t), state, action, params)
        return after, (state, out)

    first = lending.reset(key, params)
    last, (before, out) = jax.lax.scan(one, first, (jnp.arange(STEPS), actions))
    return before, out, last, lending.observe(first, params)


def make(**keywords):
    return bisimulator.make("lending", population=POPULATION, horizon=STEPS, **keywords).params


def expected_obs(person, top, groups=2):
    past = max(person["repaid"] + person["defaulted"], 1)
    one_hot = [float(person["group"] == g) for g in range(groups)]
    return [person["observed"] / top, *one_hot, person["repaid"] / past, person["defaulted"] / past]


omegas = st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.75, 7.0]), min_size=4, max_size=4)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**20),
    omega=omegas,
    moves=st.sampled_from([(1, 1), (2, 1), (0, 3)]),
    actions=st.lists(st.integers(0, 1), min_size=STEPS, max_size=STEPS),
)
def test_every_step_agrees_with_a_numpy_implementation(seed, omega, moves, actions):
    omega = np.array(omega).reshape(2, 2)
    params = make(omega=omega, score_up=moves[0], score_down=moves[1], reward_repaid=0.5, reward_default=-3.0)
    played = play(jax.random.key(seed), params, jnp.array(actions))
    before, out, last, first_obs = jax.tree.map(np.asarray, played)
    names = {"true": TRUE, "observed": OBSERVED, "repaid": REPAID, "defaulted": DEFAULTED}
    start = np.asarray(before.people[0])
    people = [{**{n: p[i] for n, i in names.items()}, "group": int(p[GROUP])} for p in start]
    assert all(p["true"] == p["observed"] and p["repaid"] == p["defaulted"] == 0 for p in people)
    obs = np.asarray(first_obs)
    for t, action in enumerate(actions):
        person = people[int(before.applicant[t])]
        np.testing.assert_allclose(obs, expected_obs(person, 6), atol=1e-6)
        assert int(out.group[t]) == person["group"]
        reward = 0.0
        if action:
            repaid = bool(out.qualified[t])
            up, down = omega[person["group"]]
            reward = 0.5 if repaid else -3.0
            person["true"] = np.clip(person["true"] + (moves[0] if repaid else -moves[1]), 0, 6)
            person["observed"] = np.clip(person["observed"] + (up if repaid else -down), 0, 6)
            person["repaid" if repaid else "defaulted"] += 1
        assert float(out.reward[t]) == reward
        np.testing.assert_allclose(out.next_self_obs[t], expected_obs(person, 6), atol=1e-6)
        obs = np.asarray(out.obs[t])
    for person, record in zip(people, np.asarray(last.people), strict=True):
        assert all(record[i] == person[n] for n, i in names.items())
    assert np.asarray(out.truncated).tolist() == [False] * (STEPS - 1) + [True]
    assert not np.asarray(out.terminated).any()


@given(
    seed=st.integers(0, 2**20),
    omega=omegas,
    actions=st.lists(st.integers(0, 1), min_size=STEPS, max_size=STEPS),
)
@settings(max_examples=30)
def test_omega_changes_only_observations(seed, omega, actions):
    key, actions = jax.random.key(seed), jnp.array(actions)
    _, plain, end, first = play(key, make(), actions)
    _, other, other_end, other_first = play(key, make(omega=np.array(omega).reshape(2, 2)), actions)
    for field in ("reward", "group", "qualified", "terminated", "truncated", "cost"):
        np.testing.assert_array_equal(getattr(plain, field), getattr(other, field))
    hidden = [TRUE, REPAID, DEFAULTED, GROUP]
    np.testing.assert_array_equal(end.people[:, hidden], other_end.people[:, hidden])
    np.testing.assert_array_equal(first, other_first)
    np.testing.assert_array_equal(plain.obs[:, 1:], other.obs[:, 1:])


def test_with_the_default_omega_observed_and_true_scores_are_equal(key):
    _, _, last, _ = play(key, make(), jnp.ones(STEPS, int))
    np.testing.assert_array_equal(last.people[:, TRUE], last.people[:, OBSERVED])


def test_repayment_depends_on_score_group_and_conscientiousness(key):
    """decide() takes any uniform number: the border lies exactly at the repayment probability."""
    params = make(repayment=np.linspace(0.1, 0.9, 14).reshape(2, 7))
    latent = bisimulator.make("lending-conscientiousness").params
    for score in range(7):
        for group in range(2):
            person = jnp.array([score, score, 0, 0, group, 0.7], jnp.float32)
            for p, chance in (
                (params, np.linspace(0.1, 0.9, 14)[7 * group + score]),
                (latent, (0.3 + 0.1 * score + 0.7) / 2),
            ):
                below, above = (
                    lending.decide(person, 0, jnp.float32(chance + d), p)[2] for d in (-1e-5, 1e-5)
                )
                assert bool(below)
                assert not bool(above)


def test_conscientiousness_is_drawn_once_per_person_from_its_normal_distribution(key):
    params = bisimulator.make("lending-conscientiousness", population=40_000).params
    latent = np.asarray(jax.jit(lending.reset)(key, params).people[:, _lending_people.CONSCIENTIOUSNESS])
    assert abs(latent.mean() - 0.55) < 4 * 0.1 / np.sqrt(40_000)
    assert abs(latent.std() - 0.1) < 4 * 0.1 / np.sqrt(2 * 40_000)


def test_people_start_with_the_distributions_of_the_paper(key):
    params = bisimulator.make("lending", population=100_000, group_probs=(0.3, 0.7)).params
    people = np.asarray(jax.jit(lending.reset)(key, params).people)
    for group, share in enumerate((0.3, 0.7)):
        mine = people[people[:, GROUP] == group]
        assert abs(len(mine) - share * 100_000) < 4 * np.sqrt(100_000 * share * (1 - share))
        expected = np.array(lending_params.INITIAL[group])
        frequency = np.bincount(mine[:, TRUE].astype(int), minlength=7) / len(mine)
        assert (abs(frequency - expected) <= 4 * np.sqrt(expected * (1 - expected) / len(mine))).all()


def test_ten_groups_are_discretised_normals():
    params = bisimulator.make("lending-10-groups").params
    initial = np.asarray(params.initial)
    assert initial.shape == (10, 7)
    for mean, row in zip(np.linspace(5, 1.75, 10), initial, strict=True):
        density = np.exp(-((np.arange(7) - mean) ** 2) / (2 * 1.375**2))
        np.testing.assert_allclose(row, density / density.sum(), rtol=1e-6)
    np.testing.assert_allclose(params.group_probs, 0.1)


def test_visits_that_overflow_the_rounds_are_decided_in_order(monkeypatch):
    """However many visits overflow, the decisions are the same."""
    env = bisimulator.make("lending", population=20, horizon=200, omega=[(0.5, 1.0), (1.0, 0.25)])
    act, key = policies.thresholds((3, 2)).bind(env), jax.random.key(4)

    def episode():
        planned = jax.jit(lambda key: lending.plan(key, env.params, 200))(key)
        return planned, jax.jit(lambda planned: lending.play(planned, act, env.params))(planned)

    usual, expected = episode()
    assert usual.rounds.num_overflow == 0
    monkeypatch.setattr(parallel_rounds, "num_rounds", lambda visits, people: 7)
    overflowing, result = episode()
    assert overflowing.rounds.num_overflow > 50
    jax.tree.map(np.testing.assert_array_equal, result, expected)


def test_a_clock_is_the_last_entry_and_changes_nothing_else(key):
    actions = jnp.arange(STEPS) % 2
    _, timed, _, first = play(key, make(clock=True), actions)
    _, plain, _, _ = play(key, make(), actions)
    remaining = 1 - np.arange(1, STEPS + 1) / STEPS
    for name in ("obs", "next_self_obs"):
        seen = np.asarray(getattr(timed, name))
        np.testing.assert_array_equal(seen[:, :-1], getattr(plain, name))
        np.testing.assert_allclose(seen[:, -1], remaining, atol=1e-6)
    np.testing.assert_array_equal(timed.reward, plain.reward)
    assert float(first[-1]) == 1


def test_episodes_in_parallel_have_the_same_clock():
    env = bisimulator.make("lending", population=POPULATION, horizon=STEPS, clock=True)

    def late(key, obs):
        return (obs[..., -1] < 0.5).astype(jnp.int32)

    played = jax.jit(lambda key: episode(env.scenario, key, late, env.params, STEPS))
    decisions, _ = played(jax.random.key(5))
    np.testing.assert_allclose(decisions.obs[:, -1], 1 - np.arange(STEPS) / STEPS, atol=1e-6)
    np.testing.assert_allclose(decisions.next_self_obs[:, -1], 1 - np.arange(1, STEPS + 1) / STEPS, atol=1e-6)
    np.testing.assert_array_equal(decisions.action, np.arange(STEPS) > STEPS / 2)


WRONG = [
    ({"clock": 1}, ["clock must be true or false", "got 1"]),
    ({"group_probs": (3, 7)}, ["group_probs must sum to 1", "got 10", "divide by their sum"]),
    ({"group_probs": (1.0,)}, ["group_probs must have shape (2,)", "(1,)"]),
    ({"group_probs": (-0.5, 1.5)}, ["must not be negative", "-0.5"]),
    ({"initial": [[0.5, 0.4], [1, 0]]}, ["initial must sum to 1", "0.9"]),
    ({"initial": [0.5, 0.5]}, ["initial must have 2 dimension", "(2,)"]),
    ({"initial": [[1.0]], "groups": 2}, ["initial must have shape (2, 1)", "leave groups and c_max out"]),
    ({"repayment": [0.5] * 6}, ["repayment must have shape (7,)", "(6,)"]),
    ({"repayment": [30, 40, 50, 60, 70, 80, 90]}, ["[0, 1]", "got 30", "divide by 100"]),
    ({"repayment": [[0.5] * 7]}, ["repayment must have shape (2, 7)", "(1, 7)"]),
    ({"omega": [(1, 1)]}, ["omega must have shape (2, 2)", "(1, 2)"]),
    ({"omega": (1, 1)}, ["omega must have 2 dimension"]),
    ({"omega": [(1, -1), (1, 1)]}, ["omega must not be negative", "-1", "already counts downwards"]),
    ({"horizon": 0}, ["horizon must be at least 1", "got 0"]),
    ({"horizon": 2.5}, ["horizon must be a whole number", "2.5"]),
    ({"horizon": 2**31}, ["horizon must be at most", str(2**31)]),
    ({"population": 0}, ["population must be at least 1", "got 0"]),
    ({"population": -5}, ["population must be at least 1", "got -5"]),
    ({"population": "many"}, ["population must be a whole number", "'many'"]),
    ({"groups": 0}, ["groups must be at least 1"]),
    ({"c_max": 0}, ["c_max must be at least 1"]),
    ({"score_up": -1}, ["score_up must be at least 0", "-1"]),
    ({"score_down": 0.5}, ["score_down must be a whole number"]),
    ({"reward_repaid": np.nan}, ["reward_repaid must be finite"]),
    ({"reward_default": "x"}, ["reward_default must be numeric", "'x'"]),
    ({"conscientiousness": 0.5}, ["conscientiousness must have 1 dimension", "(mean, sd)"]),
    ({"conscientiousness": (0.5, -0.1)}, ["standard deviation", "-0.1"]),
    ({"conscientiousness": (0.5, 0.1, 1)}, ["conscientiousness must have shape (2,)", "(3,)"]),
]


@pytest.mark.parametrize(("keywords", "parts"), WRONG)
def test_wrong_parameters_raise_an_error_that_names_the_rule(keywords, parts):
    with refused(parts):
        bisimulator.make("lending", **keywords)
