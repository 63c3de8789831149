"""The recalls of the episode so far, in every copy of the environment, from one batch to the next."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bisimulator.methods.hooks import Transitions

Counts = Float[Array, "E G 2"]  # qualified, and qualified and accepted


def recall_gap(counts: Counts) -> Float[Array, "E"]:
    """The largest difference of recalls between groups; 0 while fewer than two groups had a qualified applicant."""
    recall = counts[..., 1] / jnp.maximum(counts[..., 0], 1.0)
    known = counts[..., 0] > 0
    highest = jnp.where(known, recall, -jnp.inf).max(-1)
    lowest = jnp.where(known, recall, jnp.inf).min(-1)
    return jnp.where(known.sum(-1) > 1, highest - lowest, 0.0)


def running_gaps(
    counts: Counts, batch: Transitions
) -> tuple[Counts, Float[Array, "T E"], Float[Array, "T E"]]:
    """Counts after the batch, and the gap before and after every decision; a new episode counts from nothing."""
    groups = counts.shape[1]

    def decide(counts: Counts, now: Transitions) -> tuple[Counts, tuple[Array, Array]]:
        one = jax.nn.one_hot(now.group, groups) * now.qualified[:, None]
        added = jnp.stack([one, one * now.accepted[:, None]], -1)
        after = counts + added
        gaps = recall_gap(counts), recall_gap(after)
        ended = (now.terminated | now.truncated)[:, None, None]
        return jnp.where(ended, 0.0, after), gaps

    counts, (before, after) = jax.lax.scan(decide, counts, batch)
    return counts, before, after
