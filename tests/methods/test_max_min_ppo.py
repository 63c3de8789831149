"""The weights of max-min PPO."""

import jax.numpy as jnp
import numpy as np
import pytest

from bisimulator.methods.max_min_ppo import Config, MaxMin

RETURNS = np.float32([0.5, -0.2, 0.1])


@pytest.mark.parametrize("eta", [0.0, 1.0, 10.0])
def test_weights_are_proportional_to_the_exponential_of_the_negative_return(eta):
    raw = np.exp(-eta * RETURNS.astype(np.float64))
    got = MaxMin(3, 0.9, eta).weights(jnp.asarray(RETURNS))
    np.testing.assert_allclose(got, 3 * raw / raw.sum(), rtol=1e-5)


def test_a_large_eta_leaves_only_the_group_with_the_lowest_return():
    np.testing.assert_allclose(MaxMin(3, 0.9, 1e4).weights(jnp.asarray(RETURNS)), [0, 3, 0], atol=1e-6)


@pytest.mark.parametrize("wrong", [{"eta": -1}, {"eta": float("nan")}, {"memory": 2}])
def test_wrong_options_raise_an_error(wrong):
    with pytest.raises(ValueError, match="must"):
        Config(**wrong)
