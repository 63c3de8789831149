"""Layers: both arrangements compute the plain perceptron, and so do their gradients."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bisimulator.policies import _layers
from bisimulator.policies._layers import fast_tanh, perceptron

FEW, MANY = 7, 70
ARRANGEMENTS = [(FEW, 5), (MANY, 5), (MANY, 40)]  # rows and inputs; the second has the batch last


def make(rows, inputs, hidden, outputs):
    rng = np.random.default_rng(0)
    sizes = (inputs, *hidden, outputs)
    weights = [rng.normal(size=s).astype(np.float32) / s[0] ** 0.5 for s in itertools.pairwise(sizes)]
    biases = [rng.normal(size=size).astype(np.float32) for size in sizes[1:]]
    x, target = (rng.normal(size=(rows, size)).astype(np.float32) for size in (inputs, outputs))
    return x, weights, biases, target


def plain(x, weights, biases):
    out = x @ weights[0] + biases[0][None]
    for w, b in zip(weights[1:], biases[1:], strict=True):
        out = jnp.tanh(out) @ w + b[None]
    return out


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("hidden", [(), (8,), (8, 6)])
@pytest.mark.parametrize(("rows", "inputs"), ARRANGEMENTS)
def test_values_and_gradients_are_those_of_the_plain_formula(rows, inputs, hidden, outputs):
    *arguments, target = make(rows, inputs, hidden, outputs)

    def loss(f):
        return lambda *arguments: ((f(*arguments) - target) ** 2).sum()

    ours, theirs = (
        jax.jit(jax.value_and_grad(loss(f), argnums=(0, 1, 2)))(*arguments) for f in (perceptron, plain)
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), ours, theirs)


@pytest.mark.parametrize(("rows", "inputs"), ARRANGEMENTS)
def test_an_offset_is_added_after_the_first_layer(rows, inputs):
    x, weights, biases, _ = make(rows, inputs, (8,), 2)
    offset = np.random.default_rng(1).normal(size=(rows, 8)).astype(np.float32)
    expected = np.tanh(x @ weights[0] + biases[0] + offset) @ weights[1] + biases[1]
    np.testing.assert_allclose(jax.jit(perceptron)(x, weights, biases, offset), expected, atol=1e-5)


def test_few_rows_and_long_observations_have_the_batch_first():
    def batch_last(rows, inputs):
        x, weights, biases, _ = make(rows, inputs, (8,), 2)
        text = str(jax.make_jaxpr(perceptron)(x, weights, biases))
        return _layers._affine_last.__name__ in text

    assert [batch_last(*shape) for shape in ARRANGEMENTS] == [False, True, False]


def test_its_tanh_is_the_tanh_within_5e_7():
    x = np.concatenate([np.linspace(-12, 12, 100_001), [-1e30, -1e-30, 0, 1e-30, 1e30]]).astype(np.float32)
    found = np.asarray(fast_tanh(jnp.asarray(x)), np.float64)
    np.testing.assert_allclose(found, np.tanh(x.astype(np.float64)), rtol=0, atol=5e-7)
    assert np.isnan(fast_tanh(jnp.array(np.nan)))
