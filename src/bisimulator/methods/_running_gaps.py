"""The gap between groups in the current episode of every environment, carried from one batch to the next."""

from __future__ import annotations

from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bisimulator.methods.hooks import Transitions

Counts: TypeAlias = Float[Array, "E G 2"]  # demand and supply: qualified, and qualified and accepted


def recall_gap(counts: Counts) -> Float[Array, "E"]:
    """The largest difference of recalls between groups; 0 until two groups have had a qualified applicant."""
    recall = counts[..., 1] / jnp.maximum(counts[..., 0], 1.0)
    known = counts[..., 0] > 0
    highest = jnp.where(known, recall, -jnp.inf).max(-1)
    lowest = jnp.where(known, recall, jnp.inf).min(-1)
    return jnp.where(known.sum(-1) > 1, highest - lowest, 0.0)


def benefit_gap(counts: Counts) -> Float[Array, "E"]:
    """The largest difference of benefit rates, supply / (demand + 1), between groups."""
    rate = counts[..., 1] / (counts[..., 0] + 1.0)
    return rate.max(-1) - rate.min(-1)


def running_gaps(
    counts: Counts, batch: Transitions
) -> tuple[Counts, Float[Array, "T E"], Float[Array, "T E"]]:
    """Counts after the batch, and the gap before and after every decision; a new episode starts from 0.

    The gap is that of recalls, or of benefit rates if a decision is about all groups at once.
    """
    groups = counts.shape[1]
    gap = recall_gap if batch.tallies is None else benefit_gap

    def count(counts: Counts, step: Transitions) -> tuple[Counts, tuple[Array, Array]]:
        supply, demand = step.supply_and_demand(groups)
        after = counts + jnp.stack([demand, supply], -1)
        gaps = gap(counts), gap(after)
        ended = (step.terminated | step.truncated)[:, None, None]
        return jnp.where(ended, 0.0, after), gaps

    counts, (before, after) = jax.lax.scan(count, counts, batch)
    return counts, before, after
