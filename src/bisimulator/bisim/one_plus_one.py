"""(1+1) evolution with the one-fifth success rule: a gradient-free minimiser that is one compiled loop.

Rechenberg's rule in the form that nevergrad's OnePlusOne uses: a success doubles the step, a failure divides it by
the fourth root of 2, so the step stays the same when one candidate in five is better.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

_UP, _DOWN = 2.0, 2.0**-0.25
_LARGEST_STEP = 1.0  # in units of the bounds' width: larger steps only hit the bounds


class Search(eqx.Module):
    """The best point so far, its loss, what the loss carried along with it, and the current step."""

    x: Float[Array, "*X"]
    loss: Float[Array, ""]
    aux: Any
    step: Float[Array, ""]


def one_plus_one(
    key: Key[Array, ""],
    loss: Callable[[Float[Array, "*X"], Any], tuple[Float[Array, ""], Any]],
    x: Float[Array, "*X"],
    aux: Any,
    *,
    iterations: int,
    lower: Float[Array, "*X"] | float,
    upper: Float[Array, "*X"] | float,
    step: float = 0.15,
) -> Search:
    """Minimise loss(x, aux) -> (value, new aux) within bounds. `aux` of the best point is handed to the next candidate.

    `step` is the first standard deviation in units of the bounds' width.
    """
    lower, upper = jnp.broadcast_to(lower, x.shape), jnp.broadcast_to(upper, x.shape)
    first, aux = loss(x, aux)

    def iterate(search: Search, key: Key[Array, ""]) -> tuple[Search, None]:
        candidate = propose(key, search, lower, upper)
        value, aux = loss(candidate, search.aux)
        return judge(search, candidate, value, aux), None

    start = Search(x, first, aux, jnp.float32(step))
    return jax.lax.scan(iterate, start, jax.random.split(key, iterations))[0]


def propose(
    key: Key[Array, ""], search: Search, lower: Float[Array, "*X"], upper: Float[Array, "*X"]
) -> Float[Array, "*X"]:
    """The next candidate: a random step from the best point, within the bounds."""
    move = search.step * (upper - lower) * jax.random.normal(key, search.x.shape)
    return jnp.clip(search.x + move, lower, upper)


def judge(search: Search, candidate: Float[Array, "*X"], value: Float[Array, ""], aux: Any) -> Search:
    """The search after the candidate's loss is known."""
    better = value <= search.loss
    keep = jax.tree.map(
        lambda new, old: jnp.where(better, new, old),
        (candidate, value, aux),
        (search.x, search.loss, search.aux),
    )
    step = jnp.minimum(search.step * jnp.where(better, _UP, _DOWN), _LARGEST_STEP)
    return Search(keep[0], keep[1], keep[2], step)
