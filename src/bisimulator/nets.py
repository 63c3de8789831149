"""Small multilayer perceptrons as plain pytrees: orthogonal weights, tanh between the layers."""

from __future__ import annotations

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

# An observation of many groups is wide and nearly empty: one entry a group. Its first layer would be most of a
# training's work, so more than _WIDE inputs are first combined linearly into _NARROW.
_WIDE, _NARROW = 32, 16


class MLP(eqx.Module):
    weights: list[Float[Array, "I O"]]
    biases: list[Float[Array, "O"]]
    input_scale: float = eqx.field(static=True, default=1.0)
    combine: Float[Array, "W I"] | None = None  # of wide inputs

    def __call__(self, x: Float[Array, "... I"]) -> Float[Array, "... O"]:
        x = (x if self.combine is None else x @ self.combine) * self.input_scale
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = jnp.tanh(_affine(x, w, b))
        return _affine(x, self.weights[-1], self.biases[-1])


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
) -> MLP:
    """Orthogonal initialisation, gain sqrt(2) inside and `output_scale` at the end, biases 0 (as CleanRL)."""
    combine = None
    if inputs > _WIDE:
        key, k_combine = jax.random.split(key)
        # of a length that leaves a single entry's as it is
        combine = jax.nn.initializers.orthogonal((inputs / _NARROW) ** 0.5)(
            k_combine, (inputs, _NARROW), jnp.float32
        )
        inputs = _NARROW
    sizes = (inputs, *hidden, outputs)
    scales = [2**0.5] * len(hidden) + [output_scale]
    keys = jax.random.split(key, len(scales))
    weights = [
        jax.nn.initializers.orthogonal(scale)(k, (i, o), jnp.float32)
        for k, scale, i, o in zip(keys, scales, sizes[:-1], sizes[1:], strict=True)
    ]
    return MLP(weights, [jnp.zeros(o) for o in sizes[1:]], input_scale, combine)
