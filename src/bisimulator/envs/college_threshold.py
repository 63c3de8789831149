"""College admissions by a published threshold: a round of applicants reacts to it, and groups pay different prices.

In each step the college publishes a threshold for scores. New applicants arrive, and those below it raise their score
to it, unless that costs more than admission is worth. Everybody at the threshold is admitted. Who is eligible depends
on the true score alone, relative to the group's mean. A step decides on all applicants of a round: admitted eligible
ones are what a group is supplied with, and eligible ones its demand. (D'Amour et al., 2020; Milli et al., 2019.)
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.core import (
    Admissions,
    Box,
    GroupDecisions,
    Round,
    Scenario,
    SingleDecisions,
    Snapshot,
    Step,
    Tallies,
    Vocabulary,
    draw_category,
    group_step,
)
from bisimulator.envs._college_threshold_params import Params, make_params

_ROUNDING = 1e-6  # a raise of exactly `max_raise` is possible, whatever it is rounded to


class State(eqx.Module):
    """The last round as the college sees it, and the group that each place of a round has on average."""

    # score, admitted, admitted and eligible, group one-hot; 0 before the first round
    shown: Float[Array, "N F"]
    true_score: Float[Array, "N"]
    place: Int[Array, "N"]
    t: Int[Array, ""]


def reset(key: Key[Array, ""], params: Params) -> State:
    """Nobody has applied yet."""
    number = params.applicants
    evenly = (jnp.arange(number) + 0.5) / number
    return State(
        shown=jnp.zeros((number, 3 + params.num_groups)),
        true_score=jnp.zeros(number),
        place=draw_category(params.group_probs, evenly).astype(jnp.int32),
        t=jnp.int32(0),
    )


def raise_scores(
    score: Float[Array, "N"],
    group: Int[Array, "N"],
    threshold: Float[Array, ""],
    aim: Float[Array, "N"],
    params: Params,
) -> tuple[Float[Array, "N"], Float[Array, "N"], Float[Array, "N"]]:
    """The scores that applicants present, what they pay for it, and what reaching the threshold would cost them.

    Those below the threshold raise their score to `aim` if it is enough and worth its cost.
    """
    below = score < threshold
    cost = jnp.where(below, (aim - score) * params.costs[group], 0.0)
    gain = jnp.where(aim >= threshold, params.benefit, 0.0) - params.epsilon * params.benefit
    raises = below & (aim >= threshold) & (gain >= cost) & (aim - score < params.max_raise + _ROUNDING)
    return jnp.where(raises, aim, score), jnp.where(raises, cost, 0.0), cost


def step(key: Key[Array, ""], state: State, action: Float[Array, "1"], params: Params) -> tuple[State, Step]:
    """Publish a threshold, let applicants react to it, and admit those who reach it."""
    k_group, k_score, k_noise, k_aim, k_luck = jax.random.split(key, 5)
    shape, threshold = (params.applicants,), jnp.clip(action[0], 0, 1)
    group = draw_category(params.group_probs, jax.random.uniform(k_group, shape)).astype(jnp.int32)
    true_score = params.score_mean[group] + params.score_sd[group] * jax.random.normal(k_score, shape)
    true_score = jnp.clip(true_score, 0, 1)
    score = _with_noise(k_noise, true_score, params.score_noise, params)
    aim = _with_noise(k_aim, jnp.full(shape, threshold), params.threshold_noise, params)
    score, paid, needed = raise_scores(score, group, threshold, aim, params)
    eligible = true_score >= params.eligible_from[group]
    admitted = (score >= threshold) | (jax.random.uniform(k_luck, shape) < params.epsilon)
    one_hot = jax.nn.one_hot(group, params.num_groups)
    known = jnp.stack([score, admitted, admitted & eligible], -1)
    after = State(
        shown=jnp.concatenate([known, one_hot], -1), true_score=true_score, place=state.place, t=state.t + 1
    )
    each = {
        "reward": rewards(admitted, eligible, params),
        "supply": admitted & eligible,
        "demand": eligible,
        "applied": jnp.ones(shape),
        "correct": admitted == eligible,
        "burden": jnp.where(admitted, paid, 0.0),
        "burdened": admitted & (paid > 0),
        "needed": jnp.where(eligible, needed, 0.0),
    }
    by_group = one_hot.T @ jnp.stack([values.astype(jnp.float32) for values in each.values()], -1)
    tallies = dict(zip(each, by_group.T, strict=True))
    return after, group_step(observe(after, params), tallies, truncated=after.t >= params.horizon)


def rewards(
    admitted: Bool[Array, "... N"], eligible: Bool[Array, "... N"], params: Params
) -> Float[Array, "... N"]:
    """What each applicant of a round contributes to its reward, which is a mean."""
    right, wrong, rightly_rejected, wrongly_rejected = params.rewards / params.applicants
    return jnp.where(
        admitted,
        jnp.where(eligible, right, wrong),
        jnp.where(eligible, wrongly_rejected, rightly_rejected),
    )


def _with_noise(
    key: Key[Array, ""], score: Float[Array, "N"], sd: Float[Array, ""] | None, params: Params
) -> Float[Array, "N"]:
    if sd is None:
        return score
    noise = jnp.clip(sd * jax.random.normal(key, score.shape), -params.noise_max, params.noise_max)
    return jnp.clip(score + noise, 0, 1)


def observe(state: State, params: Params) -> Float[Array, "D"]:
    """The last round: everybody's score, whether admitted, whether admitted and eligible, and group one-hot."""
    return state.shown.reshape(-1)


def last_round(obs: Float[Array, "... D"], params: Params) -> Round:
    """The round that an observation shows."""
    shown = obs.reshape(*obs.shape[:-1], params.applicants, 3 + params.num_groups)
    return Round(
        score=shown[..., 0],
        group=shown[..., 3:].argmax(-1),
        admitted=shown[..., 1] > 0,
        eligible=shown[..., 2] > 0,
    )


def max_raise(params: Params) -> Float[Array, "G"]:
    """How far it can be worth to raise a score."""
    return jnp.minimum((1 - params.epsilon) * params.benefit / params.costs, params.max_raise)


def snapshot(state: State) -> Snapshot:
    """The scores of the last round. Groups are those of the places, because each round has other applicants."""
    return Snapshot(state.place, state.true_score, state.shown[..., 0])


def split(
    obs: Array, action: Array, next_obs: Float[Array, "... D"], tallies: Tallies, params: Params
) -> SingleDecisions:
    """A decision on each applicant: whether to admit. It shows the score that the applicant presents.

    The college never learns who of the rejected was eligible, so these share what their group adds to the reward.
    """
    now = last_round(next_obs, params)
    one_hot = jax.nn.one_hot(now.group, params.num_groups)
    admitted = jnp.where(now.admitted, rewards(now.admitted, now.eligible, params), 0.0)
    rejected = one_hot * ~now.admitted[..., None]
    of_rejected = tallies["reward"] - jnp.einsum("...ng,...n->...g", one_hot, admitted)
    share = of_rejected / jnp.maximum(rejected.sum(-2), 1)
    return SingleDecisions(
        obs=jnp.concatenate([now.score[..., None], one_hot], -1),
        action=now.admitted.astype(jnp.int32),
        reward=admitted + jnp.einsum("...ng,...g->...n", rejected, share),
        group=now.group,
    )


COLLEGE_THRESHOLD = Scenario(
    summary="Admissions by a published threshold, to which applicants react (2 groups)",
    make_params=make_params,
    reset=reset,
    step=step,
    observe=observe,
    snapshot=snapshot,
    omega_names=(),
    omega_bounds=(0.0, 1.0),
    discrete=False,
    action_space=lambda params: Box(0.0, 1.0, (1,)),
    tallies=("reward", "supply", "demand", "applied", "correct", "burden", "burdened", "needed"),
    accepts=lambda action: jnp.zeros(jnp.shape(action)[:-1], bool),
    applicants_pay=True,
    vocabulary=Vocabulary("eligible applicants", "are admitted", "eligible applicants admitted"),
    admissions=Admissions(last_round, max_raise),
    group_decisions=GroupDecisions(lambda params: 2, lambda params: 1 + params.num_groups, split),
)
