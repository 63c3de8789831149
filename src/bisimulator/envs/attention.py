"""Attention allocation: units of attention are divided among locations, in which incidents happen.

In each step N units are allocated to K locations. Incidents in location k are Poisson with a hidden rate; a unit
discovers at most one of them. The rate falls where there is attention and rises where there is none. Locations are the
groups: discovered incidents are what they are supplied with, and all incidents their demand. (D'Amour et al., 2020;
POCAR, Yu et al., 2022; harder, with other rates and without a reward for discoveries: ELBERT-PO, Xu et al., 2024.)

An action is K real numbers, of which the softmax p is taken. The units go one by one to the location with the largest
p, which then falls by 1 / N.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import (
    Allocation,
    Box,
    GroupDecisions,
    Scenario,
    SingleDecisions,
    Snapshot,
    Step,
    Tallies,
    Vocabulary,
    group_step,
    poisson,
)
from bisimulator.envs._attention_params import HISTORY, Params, make_harder_params, make_params

MAX_LOGIT = 3.0


class State(eqx.Module):
    """The hidden rates, what was seen and what happened so far, and the last steps as they are observed."""

    rates: Float[Array, "K"]
    seen: Float[Array, "K"]
    occurred: Float[Array, "K"]
    recent: Float[Array, "8 4 K"]  # the last step last
    t: Int[Array, ""]


def reset(key: Key[Array, ""], params: Params) -> State:
    """Start with the initial rates and an empty history."""
    none = jnp.zeros_like(params.rates)
    recent = jnp.zeros((HISTORY, 4, params.num_groups))
    return State(rates=params.rates, seen=none, occurred=none, recent=recent, t=jnp.int32(0))


def allocate(logits: Float[Array, "... K"], units: int) -> Int[Array, "... K"]:
    """How many units each location gets.

    Unit after unit to the largest p, which falls by 1 / N: these are the whole parts of N p, and one more for the
    largest fractions.
    """
    share = units * jax.nn.softmax(logits)
    whole = jnp.floor(share)
    fraction = share - whole
    mine, others = fraction[..., :, None], fraction[..., None, :]
    earlier = jnp.tri(logits.shape[-1], k=-1, dtype=bool)  # among equals, the first location
    first = (others > mine) | (
        (others == mine) & jnp.broadcast_to(earlier, (*fraction.shape, earlier.shape[0]))
    )
    left = units - whole.sum(-1, keepdims=True)
    return (whole + (first.sum(-1) < left)).astype(jnp.int32)


def logits_of(units: Int[Array, "... K"], params: Params) -> Float[Array, "... K"]:
    """The action that allocates so many units to each location."""
    most = jnp.maximum(units.max(-1, keepdims=True), 1)
    return jnp.where(units > 0, MAX_LOGIT + jnp.log(jnp.maximum(units, 1) / most), -MAX_LOGIT)


def discover(
    key: Key[Array, ""], units: Int[Array, "K"], occurred: Int[Array, "K"], params: Params
) -> Int[Array, "K"]:
    """How many incidents are seen: one per unit, or with a probability that falls with the units that are left."""
    if params.miss is None:
        return jnp.minimum(units, occurred)

    def look(i: Int[Array, ""], left: Int[Array, "K"]) -> Int[Array, "K"]:
        assert params.miss is not None
        u = jax.random.uniform(jax.random.fold_in(key, i), units.shape)
        found = (u < 1 - params.miss ** left.astype(jnp.float32)) & (i < occurred)
        return left - found.astype(left.dtype)

    left: Int[Array, "K"] = jax.lax.fori_loop(0, occurred.max(), look, units)
    return units - left


def step(key: Key[Array, ""], state: State, action: Float[Array, "K"], params: Params) -> tuple[State, Step]:
    """Allocate the units, count what happens and what is seen, and move the rates."""
    k_occur, k_see = jax.random.split(key)
    units = allocate(jnp.clip(action, -MAX_LOGIT, MAX_LOGIT), params.units)
    occurred = poisson(state.rates, jax.random.uniform(k_occur, state.rates.shape))
    seen = discover(k_see, units, occurred, params)
    attended = jnp.maximum(state.rates - params.rate_down * units, 0)
    y, s, a = (x.astype(jnp.float32) for x in (occurred, seen, units))
    total_seen, total_occurred = state.seen + s, state.occurred + y
    now = jnp.stack(
        [s / params.units, y / (y + params.units), a / params.units, total_seen / (total_occurred + 1)]
    )
    after = State(
        rates=jnp.where(units > 0, attended, state.rates + params.rate_up),
        seen=total_seen,
        occurred=total_occurred,
        recent=jnp.concatenate([state.recent[1:], now[None]]),
        t=state.t + 1,
    )
    tallies = {
        "reward": params.reward_seen * s + params.reward_missed * (y - s),
        "supply": s,
        "demand": y,
        "seen": s,
        "missed": y - s,
    }
    return after, group_step(observe(after, params), tallies, truncated=after.t >= params.horizon)


def observe(state: State, params: Params) -> Float[Array, "D"]:
    """The last steps: incidents seen, incidents, units, and the share of all incidents so far that was seen."""
    return state.recent.reshape(-1)


def snapshot(state: State) -> Snapshot:
    """The locations, without scores."""
    locations = jnp.broadcast_to(jnp.arange(state.rates.shape[-1]), state.rates.shape)
    return Snapshot(locations, jnp.zeros_like(state.rates), jnp.zeros_like(state.rates))


def split(
    obs: Float[Array, "... D"],
    action: Float[Array, "... K"],
    next_obs: Array,
    tallies: Tallies,
    params: Params,
) -> SingleDecisions:
    """A decision on each location: how many units it gets.

    It shows the means of the last steps (incidents, then seen ones and units), and the share seen so far.
    """
    recent = obs.reshape(*obs.shape[:-1], HISTORY, 4, params.num_groups)
    seen, occurred, units = (recent[..., i, :].mean(-2) for i in range(3))
    own = jnp.stack([seen, units, recent[..., -1, 3, :]], -1)
    location = jnp.broadcast_to(jnp.arange(params.num_groups), occurred.shape)
    return SingleDecisions(
        obs=jnp.concatenate([occurred[..., None], jax.nn.one_hot(location, params.num_groups), own], -1),
        action=allocate(jnp.clip(action, -MAX_LOGIT, MAX_LOGIT), params.units),
        reward=tallies["reward"],
        group=location,
    )


ATTENTION = Scenario(
    summary="Units of attention for locations with incidents (5 locations)",
    make_params=make_params,
    reset=reset,
    step=step,
    observe=observe,
    snapshot=snapshot,
    omega_names=(),
    omega_bounds=(0.0, 1.0),
    discrete=False,
    action_space=lambda params: Box(-MAX_LOGIT, MAX_LOGIT, (params.num_groups,)),
    tallies=("reward", "supply", "demand", "seen", "missed"),
    accepts=lambda action: jnp.zeros(jnp.shape(action)[:-1], bool),
    vocabulary=Vocabulary("incidents", "are seen", "incidents seen"),
    allocation=Allocation(lambda params: params.units, lambda state: state.rates, logits_of),
    group_decisions=GroupDecisions(
        lambda params: params.units + 1, lambda params: 4 + params.num_groups, split
    ),
)
ATTENTION_HARDER = dataclasses.replace(
    ATTENTION,
    summary="Units of attention for locations that need it more or less urgently (ELBERT-PO)",
    make_params=make_harder_params,
)
