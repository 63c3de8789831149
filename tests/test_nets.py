"""Networks: initialisation, shapes, and the narrow way in for wide observations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bisimulator.nets import make_mlp


@pytest.mark.parametrize("inputs", [1, 5, 13, 32, 33, 103])
def test_any_leading_axes_and_any_width(inputs):
    network = make_mlp(jax.random.key(0), inputs, (8, 6), 3, 0.01)
    for shape in ((), (4,), (2, 5)):
        assert network(jnp.ones((*shape, inputs))).shape == (*shape, 3)


def test_narrow_inputs_are_a_plain_perceptron():
    network = make_mlp(jax.random.key(1), 5, (8,), 2, 1.0, input_scale=3.0)
    x = np.random.default_rng(0).normal(size=(7, 5)).astype(np.float32)
    w1, w2, b1, b2 = map(np.asarray, (*network.weights, *network.biases))
    np.testing.assert_allclose(network(jnp.asarray(x)), np.tanh(3 * x @ w1 + b1) @ w2 + b2, atol=1e-5)
    assert network.combine is None
    np.testing.assert_allclose(w1 @ w1.T, 2 * np.eye(5), atol=1e-5)  # orthogonal, gain sqrt(2)


def test_wide_inputs_are_combined_first_and_keep_their_length():
    network = make_mlp(jax.random.key(2), 400, (8,), 2, 1.0, input_scale=3.0)
    combined = jnp.eye(400) @ network.combine
    assert np.mean(np.linalg.norm(combined, axis=1)) == pytest.approx(1, abs=0.05)
    narrow = type(network)(network.weights, network.biases, 3.0)
    np.testing.assert_allclose(network(jnp.eye(400)), narrow(combined), atol=1e-5)


def test_every_group_of_many_can_be_told_apart():
    """A regression on the group alone, with five times as many groups as the narrow way in has entries."""
    groups, key = 80, jax.random.key(3)
    wanted = jnp.asarray(np.random.default_rng(1).choice([-1.0, 1.0], groups))
    network = make_mlp(key, groups, (64,), 1, 1.0, 20.0)

    def loss(network):
        return jnp.mean((network(jnp.eye(groups))[:, 0] - wanted) ** 2)

    step = jax.jit(lambda n: jax.tree.map(lambda a, g: a - 0.003 * g, n, jax.grad(loss)(n)))
    for _ in range(400):
        network = step(network)
    assert (jnp.sign(network(jnp.eye(groups))[:, 0]) == wanted).mean() > 0.95
