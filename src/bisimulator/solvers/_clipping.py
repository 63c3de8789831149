"""Gradient-norm clipping of one vector of weights."""

from __future__ import annotations

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

_WIDTH = 256  # numbers side by side: one long sum takes XLA several times as long


def clip_vector(max_norm: float) -> optax.GradientTransformation:
    """`optax.clip_by_global_norm` for a gradient that is one vector."""

    def clip(
        gradient: Float[Array, "W"], state: optax.EmptyState, params: object = None
    ) -> tuple[Float[Array, "W"], optax.EmptyState]:
        norm = jnp.sqrt(_sum_of_squares(gradient))
        return gradient * jnp.where(norm < max_norm, 1.0, max_norm / norm), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), clip)


def _sum_of_squares(x: Float[Array, "W"]) -> Float[Array, ""]:
    rows = jnp.pad(x, (0, -len(x) % _WIDTH)).reshape(-1, _WIDTH)
    return (rows**2).sum(0).sum()
