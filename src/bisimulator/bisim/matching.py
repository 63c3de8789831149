"""Quantile matching: which people of different groups are compared.

The scores of groups may hardly overlap, so people are compared by their rank within their own group: the lowest quarter
with the lowest quarter, and so on (paper, section 4 and appendix "Hyperparameters").
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key


class Matching(eqx.Module):
    """The bin of each decision, and the number of decisions in each bin.

    Bins are (cells, groups, quantiles): decisions on different groups in the same cell and quantile are compared.
    A cell is an action, or there is one cell for all actions.
    """

    place: Int[Array, "B"]  # index into the flattened bins; the number of bins if the decision is left out
    count: Float[Array, "A G Q"]

    def mean(self, values: Float[Array, "B *F"]) -> Float[Array, "A G Q *F"]:
        """Mean of the values in each bin; 0 in an empty bin (see `present`)."""
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
    """Sort the decisions of each cell and group by score, with random ties, and divide them into quantiles.

    Bins of a cell or group without decisions are empty. Invalid decisions are in no bin.
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

    The k-th smallest of n values (k = 0, 1, ...) is larger than k others and smaller than n - 1 - k, so its coefficient
    is 2k - n + 1.
    """
    # absent groups are sorted last and have weight 0; a finite value keeps NaN out of the gradient
    filled = jnp.where(present, values, np.finfo(values.dtype).max)
    ordered = jnp.sort(filled, axis=-1)
    k = jnp.broadcast_to(jnp.arange(values.shape[-1]), values.shape)
    n = jnp.broadcast_to(present.sum(-1, keepdims=True), values.shape)
    weight = jnp.where(k < n, 2 * k - n + 1, 0)
    return jnp.where(k < n, ordered * weight, 0.0).sum(-1)
