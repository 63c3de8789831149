"""Policies that are fitted on the way: what they know, when they are fitted, and the episode around them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bisimulator
from bisimulator.evaluation import run_episodes
from bisimulator.policies import accept_all
from bisimulator.policies.adaptive import (
    Adaptive,
    Memory,
    cohort_counts,
    episode_with_fits,
    population_counts,
    remember,
    seen_counts,
)
from bisimulator.simulation.episodes import episode_by_steps, summarise
from tests.matrix import matrix

fitted_episode, fitted_outcome = eqx.filter_jit(episode_with_fits), eqx.filter_jit(summarise)

LENDING = bisimulator.make("lending", population=30, horizon=70)
COLLEGE = bisimulator.make("college", population=30, horizon=70)


def everybody(counts, gain, loss):
    return jnp.ones_like(counts.people)


def nobody_where_people_stand(counts, gain, loss):
    return (counts.people == 0).astype(jnp.float32)


@pytest.mark.parametrize(
    ("env", "how"),
    matrix(["lending", "college"], [("population", 0), ("population", 20), ("seen", 7), ("cohort", 100)]),
)
def test_fits_that_accept_everybody_are_accept_all(env, how):
    """Whatever the rest after the last fit: every decision is made once, in the order of time."""
    env, (knows, every) = {"lending": LENDING, "college": COLLEGE}[env], how
    decisions, state = fitted_episode(
        env.scenario, jax.random.key(0), Adaptive(everybody, knows, every), env.params, 70
    )
    assert decisions.action.shape == (70,)
    assert decisions.action.all()
    outcome = fitted_outcome(decisions, state, env.scenario, env.params)
    if env is COLLEGE:  # all 30 are admitted, then nothing counts any more
        assert decisions.valid.sum() == 30
        assert np.asarray(outcome.count("approved")).sum() == 30
    else:
        assert np.asarray(outcome.count("approved")).sum() == 70


def test_accept_all_has_the_same_distribution_fitted_or_not():
    env = bisimulator.make("lending", population=50, horizon=200)
    keys = jax.random.split(jax.random.key(1), 200)
    fitted = run_episodes(env, Adaptive(everybody, "population", 50), keys)

    @jax.jit
    @jax.vmap
    def one_by_one(key):
        played = episode_by_steps(env.scenario, key, accept_all().bind(env), env.params, 200)
        return summarise(*played, env.scenario, env.params)

    plain = one_by_one(keys)
    a, b = (np.asarray(o.count("reward")).sum(-1) for o in (fitted, plain))
    assert abs(a.mean() - b.mean()) < 4 * np.hypot(a.std(), b.std()) / np.sqrt(200)


def test_a_fit_sees_the_population_of_its_own_time():
    """A rule that rejects where people stand at the fit: fitted always it accepts nobody, fitted once it does."""
    env = bisimulator.make("lending", population=10, horizon=500, c_max=9, repayment=[1.0] * 9)
    approvals = [
        float(
            run_episodes(env, Adaptive(rule, "population", every), jax.random.split(jax.random.key(0), 4))
            .counts[..., 1]
            .sum()
        )
        for rule, every in ((nobody_where_people_stand, 1), (everybody, 1))
    ]
    assert approvals[0] == 0
    assert approvals[1] == 4 * 500


def test_the_population_is_counted_by_observed_score_and_true_chance():

    @jax.jit
    def counted(key):
        state = LENDING.reset(key)
        return population_counts(LENDING.scenario, state, LENDING.params), LENDING.scenario.snapshot(state)

    counts, people = jax.tree.map(np.asarray, counted(jax.random.key(3)))
    for g in range(2):
        for c in range(7):
            assert counts.people[g, c] == ((people.group == g) & (people.true_score == c)).sum()
    np.testing.assert_allclose(counts.chance, LENDING.params.repayment, atol=1e-6)


def test_in_college_raised_scores_lower_the_chance():
    env = bisimulator.make("college", population=5000)

    @jax.jit
    def counted(key):
        raised = population_counts(env.scenario, env.reset(key), env.params)
        return raised, cohort_counts(env.scenario, key, env.params)

    counts, cohort = jax.tree.map(np.asarray, counted(jax.random.key(0)))
    probs, well_filled = np.asarray(env.params.qualified_probs), counts.people > 100
    assert (counts.chance - probs)[well_filled].max() < 0
    sd = np.sqrt(probs * (1 - probs) / np.maximum(cohort.people, 1))
    assert (np.abs(cohort.chance - probs) <= 4 * sd + 1e-6)[cohort.people > 20].all()


def test_only_outcomes_of_the_accepted_are_remembered():
    decisions, _ = fitted_episode(
        LENDING.scenario, jax.random.key(0), Adaptive(everybody, "population", 0), LENDING.params, 70
    )
    half = jnp.arange(70) % 2
    decisions = type(decisions)(**{**vars(decisions), "action": half})
    zero = jnp.zeros((2, 7))

    @jax.jit
    def remembered(decisions):
        memory = remember(Memory(zero, zero, zero), decisions, LENDING.scenario)
        return memory, seen_counts(memory)

    memory, counts = jax.tree.map(np.asarray, remembered(decisions))
    assert memory.applied.sum() == 70
    assert memory.accepted.sum() == 35
    assert memory.qualified.sum() == (decisions.qualified & (half == 1)).sum()
    assert (counts.chance[memory.accepted == 0] == 1).all()  # where nothing is known, the best is expected
