"""Quantile matching: whom of one group to compare with whom of another.

Groups' scores may hardly overlap, so people are compared by their place within their own group: the lowest quarter
with the lowest quarter, and so on (paper, section 4 and appendix "Hyperparameters").
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key


class Matching(eqx.Module):
    """Which bin each decision falls into, and how full the bins are.

    Bins are (cells, groups, quantiles): decisions of different groups in the same cell and quantile are compared.
    A cell is an action, or there is one cell when decisions are matched whatever the action was.
    """

    place: Int[
        Array, "B"
    ]  # index into the flattened bins; the number of bins for a decision that is left out
    count: Float[Array, "A G Q"]

    def mean(self, values: Float[Array, "B *F"]) -> Float[Array, "A G Q *F"]:
        """Mean of the values in each bin; 0 where the bin is empty (`present` tells)."""
        shape = self.count.shape
        sums = jnp.zeros((self.count.size, *values.shape[1:])).at[self.place].add(values, mode="drop")
        sums = sums.reshape(*shape, *values.shape[1:])
        count = self.count.reshape(*shape, *(1 for _ in values.shape[1:]))
        return sums / jnp.maximum(count, 1)

    @property
    def present(self) -> Bool[Array, "A G Q"]:
        return self.count > 0


def match_quantiles(
    key: Key[Array, ""],
    score: Float[Array, "B"],
    cell: Int[Array, "B"],
    group: Int[Array, "B"],
    *,
    num_cells: int,
    num_groups: int,
    quantiles: int = 4,
    valid: Bool[Array, "B"] | None = None,
) -> Matching:
    """Sort each cell's and group's decisions by score, ties at random, and cut them into quantiles.

    A group or a cell without decisions leaves its bins empty; invalid decisions fall in no bin.
    """
    size, outside = score.shape[0], num_cells * num_groups
    which = cell * num_groups + group
    if valid is not None:
        which = jnp.where(valid, which, outside)
    tie = jax.random.uniform(key, (size,))
    position = jnp.arange(size)
    sorted_which, _, _, order = jax.lax.sort((which, score, tie, position), num_keys=3)
    total = jnp.zeros(outside + 1, jnp.int32).at[which].add(1)
    first = jnp.cumsum(total) - total
    rank = position - first[sorted_which]
    quantile = rank * quantiles // jnp.maximum(total[sorted_which], 1)
    place = jnp.zeros(size, jnp.int32).at[order].set(sorted_which * quantiles + quantile)
    count = jnp.zeros(outside * quantiles).at[place].add(1.0, mode="drop")
    return Matching(place=place, count=count.reshape(num_cells, num_groups, quantiles))


def sum_of_pairwise_gaps(values: Float[Array, "*B G"], present: Bool[Array, "*B G"]) -> Float[Array, "*B"]:
    """Sum of |x_i - x_j| over all pairs of present groups, by sorting: O(G log G) instead of O(G^2).

    The k-th smallest of n is larger than k others and smaller than n - 1 - k, so it counts 2k - n + 1 times.
    """
    # absent groups go last; their weight is 0, and a finite filling keeps the gradient clean
    filling = jnp.where(present, values, jnp.finfo(values.dtype).max)
    ordered = jnp.sort(filling, axis=-1)
    k = jnp.broadcast_to(jnp.arange(values.shape[-1]), values.shape)
    n = jnp.broadcast_to(present.sum(-1, keepdims=True), values.shape)
    weight = jnp.where(k < n, 2 * k - n + 1, 0)
    return jnp.where(k < n, ordered * weight, 0.0).sum(-1)
