"""Array helpers that environments and simulations share."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bisimulator.core.outcome import SCORE_GRID
from bisimulator.core.types import Params, Snapshot


@jax.custom_batching.custom_vmap
def read_row(rows: Array, i: Int[Array, ""]) -> Array:
    """`rows[i]`, read once and kept, for a row that is about to be overwritten.

    A plain `rows[i]` of a single copy is fused into each of its uses, also those after the write, and the
    compiler then copies all rows to keep the old one. A read of two rows is not; of several copies' rows neither.
    """
    return rows[jnp.stack([i, i])][0]


@read_row.def_vmap
def _read_rows(size: int, batched: list[bool], rows: Array, i: Int[Array, "..."]) -> tuple[Array, bool]:
    one: Callable[..., Array] = (lambda rows, i: rows[i]) if size > 1 and all(batched) else read_row.fun
    return jax.vmap(one, [0 if b else None for b in batched])(rows, i), True


def score_and_group(
    observed: Float[Array, "..."], group: Float[Array, "..."], params: Params
) -> Float[Array, "... F"]:
    """How every observation begins: the observed score in 0..1, then the group one-hot."""
    score = observed[..., None] / max(params.num_scores - 1, 1)
    one_hot = jax.nn.one_hot(group.astype(jnp.int32), params.num_groups, dtype=jnp.float32)
    return jnp.concatenate([score, one_hot], -1)


def count_row(
    approved: Bool[Array, "..."],
    qualified: Bool[Array, "..."],
    reward: Float[Array, "..."],
    cost: Float[Array, "..."],
) -> Float[Array, "... 7"]:
    """What one decision adds to its group's counts, in the order of `COUNTS`."""
    burdened = approved & (cost > 0)
    parts = (
        True,
        approved,
        qualified,
        approved & qualified,
        reward,
        jnp.where(burdened, cost, 0.0),
        burdened,
    )
    return jnp.stack([jnp.broadcast_to(jnp.asarray(p, jnp.float32), approved.shape) for p in parts], -1)


_MIN_BLOCK, _MAX_BLOCK = 2**12, 2**20  # a float32 counts to 2**24


def sum_at(
    shape: tuple[int, ...], index: tuple[Int[Array, "B"], ...], rows: Float[Array, "B ..."]
) -> Float[Array, "..."]:
    """`zeros(shape).at[index].add(rows)` in double precision, because float32 stops counting at 2**24.

    Blocks of rows are added up in single precision, with no more memory than the rows take, and then the blocks.
    """
    size, block = rows.shape[0], min(max(_MIN_BLOCK, math.prod(shape)), _MAX_BLOCK)
    blocks = jnp.zeros((-(-size // block), *shape)).at[jnp.arange(size) // block, *index].add(rows)
    with jax.enable_x64(True):
        return blocks.astype(jnp.float64).sum(0)


def evenly(size: int, parts: int) -> Int[Array, "B"]:
    """The part that each of `size` entries belongs to; 32 bits would overflow in episodes of 22 million steps."""
    with jax.enable_x64(True):
        return (jnp.arange(size, dtype=jnp.int64) * parts // size).astype(jnp.int32)


@partial(jax.jit, static_argnums=(1, 2))
def score_histograms(
    snapshot: Snapshot, num_groups: int, num_scores: int
) -> tuple[Float[Array, "G C"], Float[Array, "G B"]]:
    """People by group at each true score, and at each observed score on the finer grid.

    An observed score between two grid points is split between them, so whole scores stay exact.
    """
    fine = (num_scores - 1) * SCORE_GRID + 1
    group, score = snapshot.group, snapshot.true_score.astype(jnp.int32)
    true = sum_at((num_groups, num_scores), (group, score), jnp.ones(group.shape))
    place = snapshot.observed_score * SCORE_GRID
    below = jnp.clip(jnp.floor(place), 0, max(fine - 2, 0)).astype(jnp.int32)
    above_share, shape = place - below, (num_groups, fine)
    lower = sum_at(shape, (group, below), 1 - above_share)
    upper = sum_at(shape, (group, jnp.minimum(below + 1, fine - 1)), above_share)
    with jax.enable_x64(True):
        observed = lower + upper
    return true, observed
