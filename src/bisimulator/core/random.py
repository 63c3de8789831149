"""Random numbers that are cheap inside a compiled step. One key, one use."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, UInt32

# Folded into a key it gives one that no split reaches: fold_in(key, i) is split(key, n)[i].
ANOTHER_BRANCH = 2**31 - 1


def uniform(bits: UInt32[Array, "..."]) -> Float[Array, "..."]:
    """Random bits as numbers in [0, 1)."""
    return jnp.asarray((bits >> 8).astype(jnp.float32) * jnp.float32(2**-24))


def random_words(key: Key[Array, ""], number: int) -> UInt32[Array, "K"]:
    """Words of random bits, two from each block of the generator, where `jax.random.bits` takes one.

    Random numbers are most of a step's cost. A split key's data are such words, and the key is not used again.
    """
    # other generators' keys are longer and repeat themselves: two words of each
    return jax.random.key_data(jax.random.split(key, -(-number // 2)))[:, :2].reshape(-1)[:number]


def random_index(bits: UInt32[Array, "..."], n: int | Int[Array, "..."]) -> Int[Array, "..."]:
    """Random bits as an index below n: the high word of bits * n, from 16-bit halves.

    Half the random bits of `jax.random.randint` and a relative bias below n / 2**32.
    """
    low, high, n = bits & 0xFFFF, bits >> 16, jnp.asarray(n).astype(jnp.uint32)
    n_low, n_high = n & 0xFFFF, n >> 16
    middle = high * n_low + (low * n_low >> 16)
    carry = low * n_high + (middle & 0xFFFF)
    return (high * n_high + (middle >> 16) + (carry >> 16)).astype(jnp.int32)


def draw_category(probs: Float[Array, "... K"], u: Float[Array, "..."]) -> Int[Array, "..."]:
    """Category by inverse distribution function; a category of probability 0 is never drawn."""
    cdf = jnp.cumsum(probs, -1)
    cdf = cdf / cdf[..., -1:]
    borders = jnp.broadcast_to(cdf[..., :-1], (*u.shape, probs.shape[-1] - 1))
    return (u[..., None] >= borders).sum(-1)
