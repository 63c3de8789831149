"""The weights of GGF-PPO."""

import jax.numpy as jnp
import numpy as np
import pytest

from bisimulator.methods.ggf_ppo import Config, GiniWelfare

RETURNS = np.float32([0.5, -0.2, 0.1])


@pytest.mark.parametrize("ratio", [1.0, 2.0, 5.0])
def test_weights_fall_by_the_ratio_from_the_lowest_to_the_highest_return(ratio):
    sorted_weights = np.array([1, 1 / ratio, 1 / ratio**2])
    got = np.asarray(GiniWelfare(3, 0.9, ratio).weights(jnp.asarray(RETURNS)))
    np.testing.assert_allclose(got[np.argsort(RETURNS)], 3 * sorted_weights / sorted_weights.sum(), rtol=1e-5)


def test_the_weighted_sum_of_returns_is_the_smallest_over_all_orders_of_the_weights():
    """The definition of the generalised Gini welfare as a minimum over permutations."""
    weights = np.asarray(GiniWelfare(3, 0.9, 2.0).weights(jnp.asarray(RETURNS)))
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    assert weights @ RETURNS == pytest.approx(min(weights[list(order)] @ RETURNS for order in orders))


@pytest.mark.parametrize("wrong", [{"ratio": 0.5}, {"ratio": float("nan")}, {"memory": 2}])
def test_wrong_options_raise_an_error(wrong):
    with pytest.raises(ValueError, match="must"):
        Config(**wrong)
