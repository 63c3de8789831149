"""What a goal is measured on: sums over decisions or lives, per group.

Every goal is a demand on rates, that is on ratios of two of these sums, so it does not matter whether they are per
person, per decision or over a whole batch.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bisimulator.core import Tallies


class Moments(NamedTuple):
    """The columns of an array (..., M) of moments; `FINAL` and up: people at each score at the end of their life."""

    REWARD: int = 0
    PEOPLE: int = 1
    APPLIED: int = 2
    APPROVED: int = 3
    QUALIFIED: int = 4
    APPROVED_QUALIFIED: int = 5
    ENDED: int = 6
    FINAL: int = 7


M = Moments()


def decision_moments(
    reward: Float[Array, "*B"],
    accepted: Bool[Array, "*B"],
    qualified: Bool[Array, "*B"],
    ended: Bool[Array, "*B"],
    score: Int[Array, "*B"],
    *,
    visits: float,
    num_scores: int,
) -> Float[Array, "*B M"]:
    """What one decision adds to its group's moments.

    Args:
        reward, accepted, qualified: of the decision.
        ended: whether it was the last one of the person's life.
        score: the person's score after it.
        visits: how often a person applies on average, so that a decision counts as 1 / visits people.
        num_scores: C.
    """
    one = jnp.ones(reward.shape)
    columns = (one * reward, one / visits, one, accepted, qualified, accepted & qualified, ended)
    counts = jnp.stack([jnp.asarray(x, jnp.float32) for x in columns], -1)
    final = jax.nn.one_hot(score, num_scores) * ended[..., None]
    return jnp.concatenate([counts, final], -1)


def group_moments(tallies: Tallies, *, horizon: int, num_scores: int) -> Float[Array, "*B G M"]:
    """What a decision about all groups at once adds to the moments of each.

    Supply and demand are in the places of qualified applicants. The demand of a whole episode of `horizon` decisions is
    larger by 1, as in the metric benefit-rate.
    """
    supply, demand = tallies["supply"], tallies["demand"] + 1 / horizon
    none, one = jnp.zeros_like(supply), jnp.ones_like(supply)
    counts = jnp.stack([tallies["reward"], one / horizon, one, supply, demand, supply, none], -1)
    return jnp.concatenate([counts, jnp.zeros((*supply.shape, num_scores))], -1)
