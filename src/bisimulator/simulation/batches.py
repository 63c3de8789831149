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


def check_memory(env: Env, episodes: int) -> int:
    """The bytes that so many episodes side by side take, about.

    Raises:
        MemoryError: if this machine does not have them.
    """
    p, available = env.params, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    needed = episodes * _COPIES * 4 * (8 * p.population + (2 * p.observation_size + 8) * env.horizon)
    if needed > available:
        take, hint = (
            ("an episode takes", "")
            if episodes == 1
            else (f"{episodes:,} episodes take", ", or fewer seeds or episodes")
        )
        raise MemoryError(
            f"{take} about {needed / 1e9:,.0f} GB with {p.population:,} people and {env.horizon:,} steps, and this "
            f"machine has {available / 1e9:,.0f}; use a smaller population or horizon{hint}"
        )
    return needed


def episodes_at_once(env: Env) -> int:
    """How many episodes fit into a batch; raises a MemoryError if this machine cannot hold a single one."""
    return max(1, _MEMORY // check_memory(env, 1))


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
