"""A person in lending: the record, how it is drawn, what a decision does to it, and what the bank sees of it."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.core import accepts_positive, draw_category, score_and_group
from bisimulator.envs._lending_params import Params

# The columns of a record: one row per person, so that a step reads and writes one row.
TRUE, OBSERVED, REPAID, DEFAULTED, GROUP, CONSCIENTIOUSNESS = range(6)


def draw_people(
    keys: Sequence[Key[Array, ""]], params: Params, shape: tuple[int, ...]
) -> Float[Array, "*shape 6"]:
    """New people without past loans; `keys`: one each for groups, scores and conscientiousness."""
    k_group, k_score, k_latent = keys
    group = draw_category(params.group_probs, jax.random.uniform(k_group, shape))
    score = draw_category(params.initial[group], jax.random.uniform(k_score, shape))
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
    top = params.num_scores - 1
    observed_up, observed_down = params.omega[group, 0], params.omega[group, 1]
    moved = [
        jnp.clip(score + repaid * params.score_up - defaulted * params.score_down, 0, top),
        jnp.clip(person[..., OBSERVED] + repaid * observed_up - defaulted * observed_down, 0, top),
        person[..., REPAID] + repaid,
        person[..., DEFAULTED] + defaulted,
        person[..., GROUP],
        person[..., CONSCIENTIOUSNESS],
    ]
    reward = repaid * params.reward_repaid + defaulted * params.reward_default
    return jnp.stack(moved, -1), reward, would_repay


def describe(person: Float[Array, "... 6"], params: Params) -> Float[Array, "... D"]:
    """A person's observation: observed score in 0..1, group one-hot, shares of past loans repaid and defaulted."""
    score_group = score_and_group(person[..., OBSERVED], person[..., GROUP], params)
    past_loans = jnp.maximum(person[..., REPAID] + person[..., DEFAULTED], 1)
    ratios = person[..., REPAID : DEFAULTED + 1] / past_loans[..., None]
    return jnp.concatenate([score_group, ratios], -1)
