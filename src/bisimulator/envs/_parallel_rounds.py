"""Rounds of visits that can be decided in parallel, because nobody visits twice in a round.

If people do not influence each other, only the order of each person's own visits matters. The visits of one person
after the other fill a table with a fixed number of rows, column by column (McNaughton's wrap-around rule), and each row
is a round. No cell is wasted. Nobody is in a row twice, because nobody has more visits than there are rows; the few
visits beyond that overflow and are decided one by one afterwards.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int


class Rounds(eqx.Module):
    """The round of each of T visits. Shapes: R rounds, B visits per round."""

    visits: Int[Array, "R B"]  # indices of visits; T in an empty cell
    cell: Int[Array, "T"]  # the cell of each visit in the flattened table; R * B if it overflows
    overflow: Int[Array, "T"]  # visits that overflow, in time order; only the first `num_overflow` are valid
    num_overflow: Int[Array, ""]


def num_rounds(visits: int, people: int) -> int:
    """Enough rounds for almost everybody: a person's visits are nearly Poisson, and this is the mean + 8 sd + 10."""
    mean = visits / people
    return min(visits, math.ceil(mean + 8 * math.sqrt(mean) + 10))


def assign_rounds(visitor: Int[Array, "T"], people: int) -> Rounds:
    """Assign each visit to a round; `visitor` is the person of each visit in time order."""
    size, rows = visitor.size, num_rounds(visitor.size, people)
    columns = -(-size // rows)
    by_person = jnp.argsort(visitor, stable=True)
    sorted_, index = visitor[by_person], jnp.arange(size)
    first = jax.lax.cummax(jnp.where(jnp.diff(sorted_, prepend=-1) != 0, index, 0))
    last = jax.lax.cummin(jnp.where(jnp.diff(sorted_, append=people) != 0, index, size), reverse=True)
    rank, count = index - first, jnp.minimum(last - first + 1, rows)
    fits = rank < rows
    start = (jnp.cumsum(fits) - 1)[first]
    # a person who wraps around into the next column has the first visits in its upper rows, the rest down here
    below = (start // rows + 1) * rows
    wrapped = jnp.maximum(start + count - below, 0)
    by_column = jnp.where(rank < wrapped, below + rank, start + rank - wrapped)
    by_row = jnp.where(fits, by_column % rows * columns + by_column // rows, rows * columns)
    cell = jnp.zeros(size, by_row.dtype).at[by_person].set(by_row)
    visits = jnp.full(rows * columns, size).at[cell].set(index, mode="drop")
    overflows = cell == rows * columns
    return Rounds(
        visits=visits.reshape(rows, columns),
        cell=cell,
        overflow=jnp.nonzero(overflows, size=size, fill_value=0)[0],
        num_overflow=overflows.sum(),
    )
