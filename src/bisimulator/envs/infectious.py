"""Infectious disease: people in a contact network, of whom one can be treated in each step.

In each step the decision maker treats one person or nobody. Then the disease spreads, for everybody at once: a
susceptible person with k infected contacts is infected with probability 1 - (1 - infection)^k. The reward is the share
of people who are not infected. Groups are communities of the network; a group is supplied with treatments, also
wasted ones, and new infections are its demand. (Atwood et al., 2019; D'Amour et al., 2020; POCAR, Yu et al., 2022;
harder, with relapses: ELBERT-PO, Xu et al., 2024.)
"""

from __future__ import annotations

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.core import (
    ContactNetwork,
    Discrete,
    GroupDecisions,
    Scenario,
    SingleDecisions,
    Snapshot,
    Step,
    Tallies,
    Vocabulary,
    draw_category,
    group_step,
)
from bisimulator.envs._infectious_params import SUSCEPTIBLE, Params, make_params


class State(eqx.Module):
    """Everybody's health, as an index of the model's letters (S, E, I, R), and group."""

    health: Int[Array, "N"]
    group: Int[Array, "N"]
    t: Int[Array, ""]


def reset(key: Key[Array, ""], params: Params) -> State:
    """Infect the first patient and let the disease spread for the untreated steps."""
    k_first, k_spread = jax.random.split(key)
    first = draw_category(params.first_patient, jax.random.uniform(k_first))
    health = jnp.full(params.population, SUSCEPTIBLE).at[first].set(params.infected)
    for k in jax.random.split(k_spread, params.untreated_steps):
        health = spread(k, health, params)
    return State(health=health, group=params.group, t=jnp.int32(0))


def treat(
    health: Int[Array, "N"], action: Int[Array, ""], params: Params
) -> tuple[Int[Array, "N"], Bool[Array, "N"]]:
    """Everybody's health after the treatment, and who was treated; action 0 treats nobody, i the i-th person."""
    treated = jnp.arange(1, params.population + 1) == action
    cured = SUSCEPTIBLE if params.model == "SI" else params.model.index("R")
    return jnp.where(treated & (health == params.treatable), cured, health), treated


def spread(key: Key[Array, ""], health: Int[Array, "N"], params: Params) -> Int[Array, "N"]:
    """Everybody's next health: the next letter of the model with the probability of leaving the current one."""
    infected_contacts = params.contacts @ (health == params.infected).astype(jnp.float32)
    chances = {
        "S": 1 - (1 - params.infection) ** infected_contacts,
        "E": params.incubation,
        "I": params.recovery if "R" in params.model else jnp.float32(0),
        "R": params.relapse,
    }
    chance = jnp.zeros(health.shape)
    for i, letter in enumerate(params.model):  # a lookup takes several times as long
        chance = jnp.where(health == i, chances[letter], chance)
    moves = jax.random.uniform(key, health.shape) < chance
    return jnp.where(moves, (health + 1) % len(params.model), health)


def step(key: Key[Array, ""], state: State, action: Int[Array, ""], params: Params) -> tuple[State, Step]:
    """Treat one person or nobody, and let the disease spread."""
    treated_health, treated = treat(state.health, action, params)
    health = spread(key, treated_health, params)
    after = State(health=health, group=state.group, t=state.t + 1)

    flags = (
        health != params.infected,
        treated,
        (treated_health == SUSCEPTIBLE) & (health != SUSCEPTIBLE),
        state.health == params.infected,
    )
    # counts as products, which are faster than scatters
    member = jax.nn.one_hot(params.group, params.num_groups)
    healthy, supply, demand, sick = jnp.stack(flags).astype(jnp.float32) @ member
    tallies = {"reward": healthy / params.population, "supply": supply, "demand": demand, "sick": sick}
    return after, group_step(observe(after, params), tallies, truncated=after.t >= params.horizon)


def observe(state: State, params: Params) -> Float[Array, "D"]:
    """Everybody's health, one-hot, one person after the other."""
    return jax.nn.one_hot(state.health, len(params.model)).reshape(-1)


def snapshot(state: State) -> Snapshot:
    """Everybody's group; the health stands in for a score."""
    health = state.health.astype(jnp.float32)
    return Snapshot(state.group, health, health)


def treatable(obs: Float[Array, "... D"], params: Params) -> Bool[Array, "... N"]:
    """Whom a treatment changes, as an observation shows it."""
    health = obs.reshape(*obs.shape[:-1], params.population, len(params.model))
    return health[..., params.treatable] > 0


def split(
    obs: Float[Array, "... D"], action: Int[Array, "..."], next_obs: Array, tallies: Tallies, params: Params
) -> SingleDecisions:
    """A decision on each person: whether to treat. It shows the share of infected contacts and the own health."""
    shape = (*obs.shape[:-1], params.population)
    health, next_health = (x.reshape(*shape, len(params.model)) for x in (obs, next_obs))
    degree = jnp.broadcast_to(jnp.maximum(params.contacts.sum(-1), 1), shape)
    infected_contacts = health[..., params.infected] @ params.contacts / degree
    group = jnp.broadcast_to(params.group, shape)
    person = jnp.broadcast_to(jnp.arange(1, params.population + 1), shape)
    return SingleDecisions(
        obs=jnp.concatenate(
            [infected_contacts[..., None], jax.nn.one_hot(group, params.num_groups), health], -1
        ),
        action=(person == action[..., None]).astype(jnp.int32),
        reward=(1 - next_health[..., params.infected]) / params.population,
        group=group,
    )


INFECTIOUS = Scenario(
    summary="Disease in a contact network; one person is treated per step (2 communities)",
    make_params=make_params,
    reset=reset,
    step=step,
    observe=observe,
    snapshot=snapshot,
    omega_names=(),
    omega_bounds=(0.0, 1.0),
    action_space=lambda params: Discrete(params.population + 1),
    tallies=("reward", "supply", "demand", "sick"),
    accepts=lambda action: jnp.zeros(jnp.shape(action), bool),
    vocabulary=Vocabulary("who are infected", "are treated", "treatments"),
    network=ContactNetwork(lambda params: params.contacts, treatable),
    group_decisions=GroupDecisions(
        lambda params: 2, lambda params: 1 + params.num_groups + len(params.model), split
    ),
)
INFECTIOUS_HARDER = dataclasses.replace(
    INFECTIOUS,
    summary="Disease in a contact network; whoever recovered may fall ill again (ELBERT-PO)",
    make_params=partial(make_params, relapse=0.2),
)
