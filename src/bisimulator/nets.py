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
    one_hot: tuple[int, int] | None = eqx.field(
        static=True, default=None
    )  # first column and number of columns

    def __call__(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        if self.one_hot is not None:
            return self._look_up(x)
        x = x * self.input_scale
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jnp.tanh(_affine(x, w, b))
        return _affine(x, self.weights[-1], self.biases[-1])

    def _look_up(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        """The same function, with the one-hot columns' product as a row of the first weights: O(1) in their number."""
        assert self.one_hot is not None
        first, count = self.one_hot
        which = x[..., first : first + count].argmax(-1)
        others = jnp.concatenate([x[..., :first], x[..., first + count :]], -1)
        w = self.weights[0]
        row = w[first : first + count][which] * self.input_scale
        rest = jnp.concatenate([w[:first], w[first + count :]])
        hidden = jnp.tanh(_affine(others * self.input_scale, rest, self.biases[0]) + row)
        return MLP(self.weights[1:], self.biases[1:])(hidden)


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
    return MLP(weights, [jnp.zeros(o) for o in sizes[1:]], input_scale, one_hot if hidden else None)
