"""Generalised advantage estimation with truncation and termination told apart."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def gae(
    reward: Float[Array, "T E K"],
    value: Float[Array, "T E K"],
    next_value: Float[Array, "T E K"],
    terminated: Bool[Array, "T E"],
    truncated: Bool[Array, "T E"],
    gamma: float,
    lam: float,
) -> Float[Array, "T E K"]:
    """Advantages of K reward streams. A truncated step is bootstrapped, a terminated one is not."""
    goes_on = 1.0 - terminated[..., None]
    same_episode = 1.0 - (terminated | truncated)[..., None]
    delta = reward + gamma * goes_on * next_value - value

    def back(carry: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
        delta_t, same_t = at
        advantage = delta_t + gamma * lam * same_t * carry
        return advantage, advantage

    return jax.lax.scan(back, jnp.zeros_like(delta[0]), (delta, same_episode), reverse=True, unroll=8)[1]
