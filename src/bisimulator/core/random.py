"""Random numbers that are cheap inside a compiled step. One key, one use."""

from __future__ import annotations

from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

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


# steps from the mode, what is left of the uniform number, the number found, probabilities above and below the mode
_Search: TypeAlias = tuple[Array, Array, Array, Array, Array]


def poisson(rate: Float[Array, "..."], u: Float[Array, "..."]) -> Int[Array, "..."]:
    """Poisson numbers by inversion, from the mode outwards: one uniform number each, whatever the rate.

    `jax.random.poisson` draws many and rejects some.
    """
    mode, positive = jnp.floor(rate), jnp.maximum(rate, 1e-30)
    top = jnp.exp(mode * jnp.log(positive) - rate - jax.lax.lgamma(mode + 1))

    def more(carry: _Search) -> Bool[Array, ""]:
        _, left, _, above, below = carry
        return ((left >= 0) & (above + below > 1e-9)).any()

    def search(carry: _Search) -> _Search:
        k, left, found, above, below = carry
        above, below = above * rate / (mode + k), below * jnp.maximum(mode - k + 1, 0) / positive
        after_above = left - above
        after_both = after_above - below
        here = jnp.where(after_above < 0, mode + k, jnp.where(after_both < 0, mode - k, mode))
        searching = left >= 0
        return (
            k + 1,
            jnp.where(searching, after_both, left),
            jnp.where(searching, here, found),
            above,
            below,
        )

    start = (jnp.float32(1), u - top, mode, top, top)
    _, _, found, _, _ = jax.lax.while_loop(more, search, start)
    return found.astype(jnp.int32)


def draw_category(probs: Float[Array, "... K"], u: Float[Array, "..."]) -> Int[Array, "..."]:
    """Category by inverse distribution function; a category of probability 0 is never drawn."""
    return category_between(category_borders(probs), u)


def category_borders(probs: Float[Array, "... K"]) -> Float[Array, "... K-1"]:
    """Where one category ends and the next begins, in [0, 1]."""
    cdf = jnp.cumsum(probs, -1)
    return (cdf / cdf[..., -1:])[..., :-1]


def category_between(borders: Float[Array, "... K-1"], u: Float[Array, "..."]) -> Int[Array, "..."]:
    """The category of a uniform number; with a table of borders, the sums are made once and not for each number."""
    return (u[..., None] >= jnp.broadcast_to(borders, (*u.shape, borders.shape[-1]))).sum(-1)
