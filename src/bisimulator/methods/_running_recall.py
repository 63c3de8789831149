"""The recalls of the current episode in every environment, carried from one batch to the next."""

from __future__ import annotations

from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bisimulator.methods.hooks import Transitions

Counts: TypeAlias = Float[Array, "E G 2"]  # qualified, and qualified and accepted


def recall_gap(counts: Counts) -> Float[Array, "E"]:
    """The largest difference of recalls between groups; 0 until two groups have had a qualified applicant."""
    recall = counts[..., 1] / jnp.maximum(counts[..., 0], 1.0)
    known = counts[..., 0] > 0
    highest = jnp.where(known, recall, -jnp.inf).max(-1)
    lowest = jnp.where(known, recall, jnp.inf).min(-1)
    return jnp.where(known.sum(-1) > 1, highest - lowest, 0.0)


def running_gaps(
    counts: Counts, batch: Transitions
) -> tuple[Counts, Float[Array, "T E"], Float[Array, "T E"]]:
    """Counts after the batch, and the gap before and after every decision; a new episode starts from 0."""
    groups = counts.shape[1]

    def count(counts: Counts, step: Transitions) -> tuple[Counts, tuple[Array, Array]]:
        qualified = jax.nn.one_hot(step.group, groups) * step.qualified[:, None]
        after = counts + jnp.stack([qualified, qualified * step.accepted[:, None]], -1)
        gaps = recall_gap(counts), recall_gap(after)
        ended = (step.terminated | step.truncated)[:, None, None]
        return jnp.where(ended, 0.0, after), gaps

    counts, (before, after) = jax.lax.scan(count, counts, batch)
    return counts, before, after
