"""(1+1) evolution strategy with the one-fifth success rule: gradient-free minimisation in one compiled loop.

This is Rechenberg's rule as in nevergrad's OnePlusOne: a success doubles the step, a failure divides it by the fourth
root of 2, so the step stays the same if one candidate in five is better.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

_UP, _DOWN = 2.0, 2.0**-0.25
_MAX_STEP = 1.0  # in units of the width of the bounds: larger steps only hit the bounds

Aux = TypeVar("Aux")  # a pytree that the loss carries along


class Search(eqx.Module, Generic[Aux]):
    """The best point so far, its loss and auxiliary data, and the current step."""

    x: Float[Array, "*X"]
    loss: Float[Array, ""]
    aux: Aux
    step: Float[Array, ""]


def one_plus_one(
    key: Key[Array, ""],
    loss: Callable[[Float[Array, "*X"], Aux], tuple[Float[Array, ""], Aux]],
    x: Float[Array, "*X"],
    aux: Aux,
    *,
    iterations: int,
    lower: Float[Array, "*X"] | float,
    upper: Float[Array, "*X"] | float,
    step: float = 0.15,
) -> Search[Aux]:
    """Minimise `loss(x, aux) -> (value, new aux)` within bounds.

    Args:
        key: random key of the search.
        loss: the function to minimise; each candidate gets the `aux` of the best point so far.
        x: the first point.
        aux: its auxiliary data, a pytree.
        iterations: number of candidates.
        lower: lower bounds of x.
        upper: upper bounds of x.
        step: the first standard deviation, in units of the width of the bounds.

    Example:
        >>> best = one_plus_one(key, lambda x, aux: ((x**2).sum(), aux), x, (), iterations=100, lower=-1.0, upper=1.0)
        >>> best.x, best.loss
    """
    lower, upper = jnp.broadcast_to(lower, x.shape), jnp.broadcast_to(upper, x.shape)
    first, aux = loss(x, aux)

    def iterate(search: Search[Aux], key: Key[Array, ""]) -> tuple[Search[Aux], None]:
        candidate = propose(key, search, lower, upper)
        value, aux = loss(candidate, search.aux)
        return select(search, candidate, value, aux), None

    start = Search(x, first, aux, jnp.float32(step))
    best, _ = jax.lax.scan(iterate, start, jax.random.split(key, iterations))
    return best


def propose(
    key: Key[Array, ""], search: Search[Aux], lower: Float[Array, "*X"], upper: Float[Array, "*X"]
) -> Float[Array, "*X"]:
    """The next candidate: a random step from the best point, within the bounds."""
    move = search.step * (upper - lower) * jax.random.normal(key, search.x.shape)
    return jnp.clip(search.x + move, lower, upper)


def select(
    search: Search[Aux], candidate: Float[Array, "*X"], value: Float[Array, ""], aux: Aux
) -> Search[Aux]:
    """The search with the better of the best point and the candidate, and with the step adapted."""
    better = value <= search.loss
    x, loss, best_aux = jax.tree.map(
        lambda new, old: jnp.where(better, new, old),
        (candidate, value, aux),
        (search.x, search.loss, search.aux),
    )
    step = jnp.minimum(search.step * jnp.where(better, _UP, _DOWN), _MAX_STEP)
    return Search(x, loss, best_aux, step)
