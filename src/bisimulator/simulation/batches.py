"""Many episodes in batches of bounded memory."""

from __future__ import annotations

import os
from collections.abc import Callable

import jax
import numpy as np
from jaxtyping import Array, Key, PyTree

from bisimulator.core import Env

_MEMORY = 2**30  # bytes that the episodes of one batch may take
_COPIES = 4  # of people and decisions, which a compiled episode needs about


def episodes_at_once(env: Env) -> int:
    """How many episodes fit into a batch.

    Raises:
        MemoryError: if this machine does not have the memory for a single one.
    """
    p, available = env.params, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    needed = _COPIES * 4 * (8 * p.population + (2 * p.observation_size + 8) * env.horizon)
    if needed > available:
        raise MemoryError(
            f"an episode of {p.population:,} people and {env.horizon:,} steps takes about {needed / 1e9:,.0f} GB, and "
            f"this machine has {available / 1e9:,.0f}; use a smaller population or horizon"
        )
    return max(1, _MEMORY // needed)


def in_batches(env: Env, keys: Key[Array, "B"], run: Callable[[Key[Array, "b"]], PyTree]) -> PyTree:
    """`run(keys)`, which simulates one episode per key, a batch at a time; the results as NumPy arrays."""
    size = min(episodes_at_once(env), keys.size)
    results = []
    for wanted in range(0, keys.size, size):
        start = min(
            wanted, keys.size - size
        )  # the last batch is as large as the others, so nothing compiles again
        batch = run(keys[start : start + size])
        results.append(jax.tree.map(lambda x, skip=wanted - start: np.asarray(x)[skip:], batch))
    return jax.tree.map(lambda *parts: np.concatenate(parts), *results)
