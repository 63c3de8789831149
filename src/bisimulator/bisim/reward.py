"""The learned reward correction and its loss J_rew (eqs. 8 and 9).

R(s, a, g) = r(s, a) + alpha * R_phi(s, a, g), where phi is learned so that matched decisions on different groups have
the same reward. Observations contain the group, so R_phi is a function of observation and action.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.bisim.matching import match_quantiles, sum_of_pairwise_gaps
from bisimulator.policies.networks import MLP

Gauge: TypeAlias = Literal["one-sided", "free", "centred", "raising", "kappa"]


def corrections(phi: MLP, obs: Float[Array, "*B D"], offset: Float[Array, "A"]) -> Float[Array, "*B A"]:
    """R_phi(s, a, g) of every action, minus the `offset` that fixes the gauge."""
    out = phi(obs)
    return out - jnp.broadcast_to(offset, out.shape)


def corrected_reward(
    phi: MLP,
    offset: Float[Array, "A"],
    obs: Float[Array, "*B D"],
    action: Int[Array, "*B"],
    reward: Float[Array, "*B"],
    alpha: float,
) -> Float[Array, "*B"]:
    """R = r + alpha * R_phi(s, a, g); eq. (9)."""
    out = corrections(phi, obs, offset)
    return reward + alpha * jnp.take_along_axis(out, action[..., None], -1)[..., 0]


def j_rew(
    phi: MLP,
    key: Key[Array, ""],
    obs: Float[Array, "B D"],
    action: Int[Array, "B"],
    reward: Float[Array, "B"],
    group: Int[Array, "B"],
    *,
    alpha: float,
    num_groups: int,
    quantiles: int = 4,
    same_action: bool = True,
    valid: Bool[Array, "B"] | None = None,
) -> Float[Array, ""]:
    """Sum over matched quantiles and pairs of groups of |mean R of one - mean R of the other|; eq. (8).

    It compares means, because differences of single decisions with noisy outcomes would match medians. `same_action`
    compares only decisions with the same action; False is the paper's literal form.
    """
    num_actions = phi.biases[-1].shape[-1]
    matching = match_quantiles(
        key,
        obs[:, 0],
        action if same_action else jnp.zeros_like(action),
        group,
        num_cells=num_actions if same_action else 1,
        num_groups=num_groups,
        quantiles=quantiles,
        valid=valid,
    )
    total = corrected_reward(phi, jnp.zeros(num_actions), obs, action, reward, alpha)
    means = jnp.moveaxis(matching.mean(total), 1, -1)
    return sum_of_pairwise_gaps(means, jnp.moveaxis(matching.present, 1, -1)).sum()


def mean_square_correction(phi: MLP, obs: Float[Array, "B D"], alpha: float) -> Float[Array, ""]:
    """The mean over decisions of the squared correction, summed over all actions, also those not taken.

    J_rew says nothing about people who never get an action, and little about differences within a matched quantile.
    As a penalty it keeps the correction near 0 where J_rew does not ask for one.
    """
    return ((alpha * phi(obs)) ** 2).sum(-1).mean()


def gauge_offset(
    phi: MLP,
    obs: Float[Array, "B D"],
    group: Int[Array, "B"],
    *,
    gauge: Gauge,
    kappa: float = 0.0,
    floor: float = 0.0,
    num_groups: int,
) -> Float[Array, "A"]:
    """The constant to subtract from R_phi(., a, .) for each action; J_rew does not depend on it.

    Action 0 rejects. With m_ga the mean of R_phi(s, a, g) over the people of group g in the batch, and m_a the mean of
    these over groups:

    - `free` subtracts nothing (the paper);
    - `one-sided` keeps m_a >= m_0 + floor, so that the correction never makes rejecting more attractive on average;
    - `centred` sets every m_a to 0;
    - `raising` sets m_0 and the lowest m_ga - m_g0 of a group to 0, so that groups become alike by raising the others;
    - `kappa` sets m_0 to 0 and every other m_a to kappa.
    """
    out = phi(obs)
    if gauge == "free":
        return jnp.zeros(out.shape[-1])
    count = jnp.zeros(num_groups).at[group].add(1.0)
    by_group = jnp.zeros((num_groups, out.shape[-1])).at[group].add(out) / jnp.maximum(count, 1)[:, None]
    mean = by_group.sum(0) / jnp.maximum((count > 0).sum(), 1)
    accepting = jnp.arange(out.shape[-1]) > 0
    if gauge == "centred":
        return mean
    if gauge == "raising":
        advantage = by_group - by_group[:, :1]
        return mean[0] + jnp.where(count[:, None] > 0, advantage, jnp.inf).min(0)
    if gauge == "kappa":
        return mean - jnp.where(accepting, kappa, 0.0)
    return jnp.where(accepting, jnp.minimum(mean - mean[0] - floor, 0.0), 0.0)
