"""A person in lending: the record, how it is drawn, what a decision does to it, and what the bank sees of it."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.core import (
    accepts_positive,
    category_between,
    category_borders,
    draw_category,
    score_and_group,
)
from bisimulator.envs._lending_params import Params

# The columns of a record: one row per person, so that a step reads and writes one row.
TRUE, OBSERVED, REPAID, DEFAULTED, GROUP, CONSCIENTIOUSNESS = range(6)
_BELOW_1 = 1 - 2**-24  # what a quotient of uniform numbers that is rounded to 1 stands for


def draw_people(
    keys: Sequence[Key[Array, ""]], params: Params, shape: tuple[int, ...]
) -> Float[Array, "*shape 6"]:
    """New people without past loans; `keys`: one each for groups, scores and conscientiousness."""
    k_group, k_score, k_latent = keys
    u_group = jax.random.uniform(k_group, shape)
    if params.fixed_sizes and shape:  # everybody at once: evenly spaced numbers give each group its share
        u_group = (jnp.arange(params.population) + 0.5) / params.population
    group = draw_category(params.group_probs, u_group)
    score = category_between(category_borders(params.initial)[group], jax.random.uniform(k_score, shape))
    latent = jnp.zeros(shape)
    if params.conscientiousness is not None:
        mean, sd = params.conscientiousness
        latent = mean + sd * jax.random.normal(k_latent, shape)
    none = jnp.zeros(shape)
    return jnp.stack([score, score, none, none, group, latent], -1).astype(jnp.float32)


def decide(
    person: Float[Array, "... 6"], action: Int[Array, "..."], u: Float[Array, "..."], params: Params
) -> tuple[Float[Array, "... 6"], Float[Array, "..."], Bool[Array, "..."]]:
    """The person after the decision, the bank's reward, and whether the person would repay.

    `u` are uniform numbers; a person repays if `u` is below the probability of repayment.
    """
    group, score = person[..., GROUP].astype(jnp.int32), person[..., TRUE]
    chance = params.repayment[group, score.astype(jnp.int32)]
    if params.conscientiousness is not None:
        chance = jnp.clip((chance + person[..., CONSCIENTIOUSNESS]) / 2, 0, 1)
    would_repay = u < chance
    accepted = accepts_positive(action)
    repaid, defaulted = accepted & would_repay, accepted & ~would_repay
    top, observed = params.num_scores - 1, person[..., OBSERVED]
    observed_up, observed_down = params.omega[group, 0], params.omega[group, 1]
    if params.moves is None:
        after = jnp.clip(score + repaid * params.score_up - defaulted * params.score_down, 0, top)
        seen = observed + repaid * observed_up - defaulted * observed_down
    else:
        # u once more: within those who repay, or within those who do not, it is uniform again
        again = jnp.where(would_repay, u / chance, (u - chance) / (1 - chance))
        after = _move(score, group, would_repay, accepted, again, params)
        seen = observed + (after - score) * jnp.where(would_repay, observed_up, observed_down)
    moved = [
        after,
        jnp.clip(seen, 0, top),
        person[..., REPAID] + repaid,
        person[..., DEFAULTED] + defaulted,
        person[..., GROUP],
        person[..., CONSCIENTIOUSNESS],
    ]
    reward = repaid * params.reward_repaid + defaulted * params.reward_default
    return jnp.stack(moved, -1), reward, would_repay


def _move(
    score: Float[Array, "..."],
    group: Int[Array, "..."],
    would_repay: Bool[Array, "..."],
    accepted: Bool[Array, "..."],
    u: Float[Array, "..."],
    params: Params,
) -> Float[Array, "..."]:
    """The next score by the table of moves; a rejected person's moves with a probability, as after a loan."""
    assert params.moves is not None
    share = jnp.where(accepted, 1.0, params.rejected_moves[group])
    borders = category_borders(params.moves)[would_repay.astype(jnp.int32), score.astype(jnp.int32)]
    target = category_between(borders, jnp.minimum(u / jnp.maximum(share, 1e-9), _BELOW_1))
    return jnp.where(accepted | (u < share), target.astype(jnp.float32), score)


def describe(person: Float[Array, "... 6"], params: Params, t: Int[Array, "..."]) -> Float[Array, "... D"]:
    """A person's observation at step t: observed score in 0..1, group one-hot, shares of past loans repaid and
    defaulted, and with a clock the share of the episode that remains."""
    score_group = score_and_group(person[..., OBSERVED], person[..., GROUP], params)
    past_loans = jnp.maximum(person[..., REPAID] + person[..., DEFAULTED], 1)
    ratios = person[..., REPAID : DEFAULTED + 1] / past_loans[..., None]
    seen = [score_group, ratios]
    if params.clock:
        seen.append(jnp.broadcast_to(remaining(t, params)[..., None], (*person.shape[:-1], 1)))
    return jnp.concatenate(seen, -1)


def remaining(t: Int[Array, "..."], params: Params) -> Float[Array, "..."]:
    """The share of the episode that is left at step t."""
    return jnp.clip(1 - t / params.horizon, 0, 1)
