"""Who can be decided side by side: visits in waves in which nobody comes twice.

Where people do not influence each other, only the order within one person's visits matters. The visits of one person
after the other fill a table with a fixed number of rows, column by column (McNaughton's wrap-around rule); a row is a
wave. No place is wasted, and since nobody comes more often than there are rows, nobody is twice in one row.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int


class Waves(eqx.Module):
    """T visits; whoever comes more often than there are waves, which hardly happens, is `late` with the rest."""

    visits: Int[Array, "W B"]  # row by row; T where a place is empty
    place: Int[Array, "T"]  # of each visit in the flattened rows; W * B for a late one
    late: Int[Array, "T"]  # the late visits in the order of time, then nothing that matters
    late_count: Int[Array, ""]


def number_of_waves(visits: int, people: int) -> int:
    """Hardly anybody comes more often: a person's number of visits is nearly Poisson, and this is 8 sd and 10 more."""
    mean = visits / people
    return min(visits, math.ceil(mean + 8 * math.sqrt(mean) + 10))


def in_waves(visitor: Int[Array, "T"], people: int) -> Waves:
    """Waves for the visitors in the order of time."""
    size, rows = visitor.size, number_of_waves(visitor.size, people)
    columns = -(-size // rows)
    by_person = jnp.argsort(visitor, stable=True)
    sorted_, index = visitor[by_person], jnp.arange(size)
    first = jax.lax.cummax(jnp.where(jnp.diff(sorted_, prepend=-1) != 0, index, 0))
    last = jax.lax.cummin(jnp.where(jnp.diff(sorted_, append=people) != 0, index, size), reverse=True)
    rank, count = index - first, jnp.minimum(last - first + 1, rows)
    in_time = rank < rows
    start = (jnp.cumsum(in_time) - 1)[first]
    # a person who wraps around into the next column comes first in its upper rows, then in the lower ones here
    below = (start // rows + 1) * rows
    wrapped = jnp.maximum(start + count - below, 0)
    cell = jnp.where(rank < wrapped, below + rank, start + rank - wrapped)
    flat = jnp.where(in_time, cell % rows * columns + cell // rows, rows * columns)
    place = jnp.zeros(size, flat.dtype).at[by_person].set(flat)
    visits = jnp.full(rows * columns, size).at[place].set(index, mode="drop")
    late = place == rows * columns
    return Waves(
        visits=visits.reshape(rows, columns),
        place=place,
        late=jnp.nonzero(late, size=size, fill_value=0)[0],
        late_count=late.sum(),
    )
