"""EO: recalls are equal, and no policy with equal recalls earns more."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linprog

import bisimulator
from bisimulator.methods.eo import Config, build, equal_recall
from bisimulator.policies.adaptive import Counts

fitted = jax.jit(equal_recall)

SHARES = hnp.arrays(np.float32, (3, 4), elements=st.floats(0.0625, 1, width=32))


@given(SHARES, SHARES, st.floats(0.5, 2), st.floats(-4, -0.25))
def test_recalls_are_equal_and_the_profit_is_that_of_the_linear_programme(people, chance, gain, loss):
    counts = Counts(jnp.asarray(people), jnp.asarray(chance))
    policy = np.asarray(fitted(counts, jnp.float32(gain), jnp.float32(loss)))
    qualified, profit = people * chance, people * (chance * gain + (1 - chance) * loss)
    recall = (policy * qualified).sum(1) / qualified.sum(1)
    assert np.ptp(recall) < 1e-4
    # variables: the acceptance at every group and score, and the common recall
    equal = np.zeros((3, 13))
    for g in range(3):
        equal[g, 4 * g : 4 * g + 4] = qualified[g] / qualified[g].sum()
        equal[g, -1] = -1
    best = linprog(np.append(-profit.ravel(), 0), A_eq=equal, b_eq=np.zeros(3), bounds=(0, 1))
    assert (policy * profit).sum() >= -best.fun - 1e-3


def test_one_score_is_randomised_in_lending():
    """Without randomisation, two groups with different distributions cannot have equal recalls."""
    env = bisimulator.make("lending")
    counts = Counts(env.params.initial, env.params.qualified_probs)
    policy = np.asarray(fitted(counts, *env.params.accept_rewards))
    assert ((policy > 0) & (policy < 1)).sum() == 1


@pytest.mark.long
def test_frequent_fits_give_a_smaller_recall_gap_than_a_single_fit():
    env = bisimulator.make("lending", population=300, horizon=3000)
    once, always = (
        bisimulator.evaluate(env, build(Config(every=every), env), seeds=4, episodes=2).summary["recall_gap"][
            0
        ]
        for every in (0, 100)
    )
    assert always < once
