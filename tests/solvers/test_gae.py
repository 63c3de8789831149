"""Advantages against a plain recursion; truncation is bootstrapped, termination is not."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from bisimulator.solvers.gae import gae

T, E, K = 6, 2, 3
GAMMA, LAM = 0.9, 0.8


compiled = jax.jit(lambda *inputs: gae(*inputs, GAMMA, LAM))


def by_hand(reward, value, next_value, terminated, truncated, gamma, lam):
    advantage = np.zeros((T, E, K))
    for e in range(E):
        for k in range(K):
            later = 0.0
            for t in reversed(range(T)):
                bootstrap = 0.0 if terminated[t, e] else next_value[t, e, k]
                delta = reward[t, e, k] + gamma * bootstrap - value[t, e, k]
                goes_on = not (terminated[t, e] or truncated[t, e])
                later = delta + (gamma * lam * later if goes_on else 0.0)
                advantage[t, e, k] = later
    return advantage


NUMBERS = npst.arrays(np.float32, (T, E, K), elements=st.floats(-10, 10, width=32))
FLAGS = npst.arrays(bool, (T, E))


@given(NUMBERS, NUMBERS, NUMBERS, FLAGS, FLAGS)
def test_it_is_the_recursion(reward, value, next_value, terminated, truncated):
    inputs = (reward, value, next_value, terminated, truncated)
    got = compiled(*inputs)
    np.testing.assert_allclose(got, by_hand(*inputs, GAMMA, LAM), rtol=1e-4, atol=1e-3)


def ended(terminated, truncated):
    """One step that ends the episode: reward 1, value 0, and the place it leads to is worth 10."""
    one, flags = jnp.ones((1, 1, 1)), (jnp.array([[terminated]]), jnp.array([[truncated]]))
    return float(gae(one, 0 * one, 10 * one, *flags, GAMMA, LAM)[0, 0, 0])


def test_a_truncated_step_is_bootstrapped_and_a_terminated_one_is_not():
    assert ended(terminated=False, truncated=True) == 10.0
    assert ended(terminated=True, truncated=False) == 1.0
    assert ended(terminated=True, truncated=True) == 1.0


def test_the_next_episode_does_not_leak_into_the_last():
    reward = jnp.array([0.0, 0.0, 100.0])[:, None, None]
    for flag in ("terminated", "truncated"):
        flags = {"terminated": jnp.zeros((3, 1), bool), "truncated": jnp.zeros((3, 1), bool)}
        flags[flag] = flags[flag].at[1].set(True)
        zero = jnp.zeros((3, 1, 1))
        advantage = gae(reward, zero, zero, flags["terminated"], flags["truncated"], GAMMA, LAM)
        np.testing.assert_allclose(advantage[:, 0, 0], [0, 0, 100])
