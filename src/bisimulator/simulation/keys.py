"""The one place where evaluation keys come from."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from bisimulator.core import ANOTHER_BRANCH

_MAX_EPISODES = 10_000_000  # of one evaluation


def evaluation_keys(seeds: Sequence[int], episodes: int) -> Key[Array, "S E"]:
    """The key of every evaluation episode: the same for a seed and an episode whoever asks.

    They descend from the seed by another branch than the keys of training, so that no episode is shared with it.
    """
    if len(seeds) * episodes > _MAX_EPISODES:
        raise ValueError(
            f"seeds times episodes must be at most {_MAX_EPISODES:,}, got {len(seeds):,} x {episodes:,}; use fewer"
        )
    branch = [jax.random.fold_in(jax.random.key(seed), ANOTHER_BRANCH) for seed in seeds]
    return jnp.stack([jax.random.split(key, episodes) for key in branch])
