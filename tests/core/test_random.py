"""Random numbers: exact distributions on a grid of uniform numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bisimulator.core import poisson

GRID = 100_000


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.5, 8.0, 30.0, 500.0])
def test_poisson_numbers_have_the_probabilities_of_the_distribution(rate):
    u = (jnp.arange(GRID) + 0.5) / GRID
    drawn = np.asarray(jax.jit(poisson)(jnp.full(GRID, rate), u))
    assert drawn.min() >= 0
    frequency = np.bincount(drawn) / GRID
    expected = stats.poisson.pmf(np.arange(len(frequency)), rate)
    # a grid point more or less at either end of an interval; at high rates, single precision
    np.testing.assert_allclose(frequency, expected, atol=3 / GRID + 2e-4 * expected.max())


def test_rates_may_differ():
    rates = jnp.array([0.0, 2.0, 50.0])
    u = jnp.broadcast_to(((jnp.arange(2000) + 0.5) / 2000)[:, None], (2000, 3))
    drawn = poisson(jnp.broadcast_to(rates, u.shape), u)
    np.testing.assert_allclose(drawn.mean(0), rates, rtol=2e-3)
