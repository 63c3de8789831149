"""Small multilayer perceptrons as plain pytrees: orthogonal weights, tanh between the layers."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key


class MLP(eqx.Module):
    weights: list[Float[Array, "I O"]]
    biases: list[Float[Array, "O"]]
    input_scale: float = eqx.field(static=True, default=1.0)
    # the first layer's weights of `one_hot` input columns (first column, number), which are looked up, not multiplied
    rows: Float[Array, "G O"] | None = None
    one_hot: tuple[int, int] = eqx.field(static=True, default=(0, 0))

    def __call__(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        first, count = self.one_hot
        others = x if self.rows is None else jnp.concatenate([x[..., :first], x[..., first + count :]], -1)
        out = _affine(others * self.input_scale, self.weights[0], self.biases[0])
        if self.rows is not None:
            out = out + self.rows[x[..., first : first + count].argmax(-1)] * self.input_scale
        for w, b in zip(self.weights[1:], self.biases[1:], strict=True):
            out = _affine(jnp.tanh(out), w, b)
        return out

    @property
    def inputs(self) -> int:
        return int(self.weights[0].shape[-2]) + self.one_hot[1]


def _affine(x: Float[Array, "... I"], w: Float[Array, "I O"], b: Float[Array, "O"]) -> Float[Array, "... O"]:
    out = x @ w
    return out + jnp.broadcast_to(b, out.shape)


def make_mlp(
    key: Key[Array, ""],
    inputs: int,
    hidden: Sequence[int],
    outputs: int,
    output_scale: float,
    input_scale: float = 1.0,
    one_hot: tuple[int, int] | None = None,
) -> MLP:
    """Orthogonal initialisation, gain sqrt(2) inside and `output_scale` at the end, biases 0 (as CleanRL)."""
    sizes = (inputs, *hidden, outputs)
    scales = [2**0.5] * len(hidden) + [output_scale]
    keys = jax.random.split(key, len(scales))
    weights = [
        jax.nn.initializers.orthogonal(scale)(k, (i, o), jnp.float32)
        for k, scale, i, o in zip(keys, scales, sizes[:-1], sizes[1:], strict=True)
    ]
    biases = [jnp.zeros(o) for o in sizes[1:]]
    if one_hot is None:
        return MLP(weights, biases, input_scale)
    first, count = one_hot
    rows, w = weights[0][first : first + count], weights[0]
    weights[0] = jnp.concatenate([w[:first], w[first + count :]])
    return MLP(weights, biases, input_scale, rows, one_hot)
