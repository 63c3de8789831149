"""Episodes: both ways of simulating lending against the exact chain, and how an episode ends."""

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import bisimulator
from bisimulator import policies
from bisimulator.core import Env
from bisimulator.envs.college import COLLEGE
from bisimulator.envs.lending import LENDING, describe
from bisimulator.exact import chain
from bisimulator.simulation import episodes as simulate
from tests.matrix import matrix

EPISODES, POPULATION, HORIZON, GROUPS, SCORES = 400, 20, 150, 2, 4

chances = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0])
tables = hnp.arrays(float, (GROUPS, SCORES), elements=chances)
weights = hnp.arrays(float, (GROUPS, SCORES), elements=st.sampled_from([0.0, 1.0, 2.0, 5.0]))


@st.composite
def worlds(draw, conscientiousness):
    initial = draw(weights.filter(lambda w: (w.sum(-1) > 0).all()))
    share = draw(st.sampled_from([0.2, 0.5, 0.65]))
    keywords = {
        "initial": initial / initial.sum(-1, keepdims=True),
        "repayment": draw(tables),
        "group_probs": (share, 1 - share),
        "reward_repaid": draw(st.sampled_from([1.0, 0.3])),
        "reward_default": draw(st.sampled_from([-1.0, -2.5])),
    }
    if conscientiousness:
        keywords["conscientiousness"] = (draw(chances), draw(st.sampled_from([0.0, 0.1])))
    else:
        up, down = draw(st.sampled_from([(1, 1), (2, 1), (1, 3)]))
        keywords |= {"score_up": up, "score_down": down, "omega": [(up, down)] * GROUPS}
    return bisimulator.make("lending", population=POPULATION, horizon=HORIZON, **keywords)


@eqx.filter_jit
def outcomes(simulator, params, policy, keys):
    act = policy.bind(Env("lending", LENDING, params))

    def one(key):
        return simulate.summarise(*simulator(LENDING, key, act, params, HORIZON), LENDING, params)

    return jax.vmap(one)(keys)


def deviations(simulator, env, table, seed):
    """By how many standard errors each simulated mean misses its exact expectation."""
    keys = jax.random.split(jax.random.key(seed), EPISODES)
    outcome = outcomes(simulator, env.params, policies.table(table), keys)
    exact = chain.expect(env, table)
    people = POPULATION * np.asarray(env.params.group_probs, float)[:, None]
    pairs = [
        (outcome.count("applied"), exact.applied),
        (outcome.count("approved"), exact.approved),
        (outcome.count("qualified"), exact.qualified),
        (outcome.count("approved_qualified"), exact.approved_qualified),
        (outcome.count("reward"), exact.group_return),
        (outcome.true_scores, exact.final_scores * people),
    ]
    for simulated, expected in pairs:
        simulated = np.asarray(simulated, float)
        error = simulated.std(0, ddof=1) / np.sqrt(EPISODES)
        # one event in all episodes is the finest difference that can be seen
        yield np.abs(simulated.mean(0) - expected) / np.maximum(error, 1 / EPISODES)


@pytest.mark.parametrize(
    ("simulator", "conscientiousness"),
    matrix([simulate.episode, simulate.episode_by_steps], [False, True]),
)
def test_simulated_means_lie_within_four_standard_errors_of_the_exact_ones(simulator, conscientiousness):
    @settings(max_examples=12)
    @given(env=worlds(conscientiousness), table=tables, seed=st.integers(0, 2**20))
    def check(env, table, seed):
        for z in deviations(simulator, env, table, seed):
            assert z.max() < 4

    check()


def test_side_by_side_keeps_each_persons_history_in_order(key):
    """A person's past in the observation is what the earlier decisions on that person made of it."""
    env = bisimulator.make("lending", population=3, horizon=60, omega=[(0.5, 1.0), (1.0, 0.25)])
    act = policies.random(0.7).bind(env)
    decisions, state = jax.jit(lambda k: simulate.episode(env.scenario, k, act, env.params, 60))(key)
    assert np.asarray(decisions.valid).all()
    obs, after, group = (np.asarray(x) for x in (decisions.obs, decisions.next_self_obs, decisions.group))
    known = {}  # what a person looks like -> how many there are
    for t in range(60):
        seen = tuple(obs[t])
        if seen in known and known[seen] > 0:
            known[seen] -= 1
        else:  # must be somebody's first visit, without any past
            assert tuple(obs[t, -2:]) == (0, 0)
        known[tuple(after[t])] = known.get(tuple(after[t]), 0) + 1
        assert obs[t, 1 + group[t]] == 1
    assert sum(known.values()) <= 3
    final = {tuple(looks) for looks in np.asarray(describe(state.people, env.params, state.t))}
    assert {looks for looks, n in known.items() if n > 0} <= final


@pytest.mark.parametrize("chance", [1.0, 0.6])
def test_nothing_counts_after_a_termination(chance):
    env = bisimulator.make("college", population=8, horizon=50)
    outcome, decisions = jax.tree.map(np.asarray, college_episode(policies.random(chance), env.params))
    valid = np.asarray(decisions.valid)
    length = valid.sum()
    assert valid[:length].all()
    assert (length > 8) == (chance < 1)
    assert np.asarray(decisions.action)[:length].sum() == 8
    assert np.asarray(decisions.action)[:length][-1] == 1
    assert outcome.count("applied").sum() == length
    assert outcome.count("approved").sum() == 8


@eqx.filter_jit
def college_episode(policy, params):
    env = Env("college", COLLEGE, params)
    decisions, state = simulate.episode(COLLEGE, jax.random.key(0), policy.bind(env), params, 50)
    return simulate.summarise(decisions, state, COLLEGE, params), decisions
