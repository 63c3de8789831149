"""Lending as one person's life: an episode is everything that happens to one applicant.

People do not influence each other in lending, so an episode of the queue over N people is N independent lives. Each
person applies after geometric gaps (mean N steps) until the horizon. The decisions of a stream of such lives have the
same distribution as those of the queue, but what follows a decision is what happens to the same person. An unmodified
solver with a discount of 1 then maximises what the metrics measure.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import Snapshot, Step, random_words, uniform
from bisimulator.envs._lending_params import Params
from bisimulator.envs._lending_people import GROUP, OBSERVED, TRUE, decide, describe, draw_people, remaining


class LifeState(eqx.Module):
    """One person, and the step of the queue at which he or she applies."""

    person: Float[Array, "6"]
    t: Int[Array, ""]


def reset(key: Key[Array, ""], params: Params) -> LifeState:
    """A person who applies at least once, at the time of the first application."""
    # the keys of a split, one by one: those that are not used cost nothing
    *k_person, k_first = (jax.random.fold_in(key, i) for i in range(4))
    never = jnp.exp(params.horizon * jnp.log1p(-1 / params.population))
    wait = _wait(jax.random.uniform(k_first) * (1 - never), params)
    return LifeState(draw_people(k_person, params, ()), jnp.minimum(wait, params.horizon - 1))


def step(
    key: Key[Array, ""], state: LifeState, action: Int[Array, ""], params: Params
) -> tuple[LifeState, Step]:
    """Decide on the person and draw the time of the next application; the life ends if it is after the horizon."""
    bits = random_words(key, 2)
    person, reward, qualified = decide(state.person, action, uniform(bits[0]), params)
    after = LifeState(person, state.t + 1 + _wait(uniform(bits[1]), params))
    obs = describe(person, params, after.t)
    return after, Step(
        obs=obs,
        reward=reward,
        terminated=after.t >= params.horizon,
        truncated=jnp.array(False),
        group=person[GROUP].astype(jnp.int32),
        qualified=qualified,
        cost=jnp.float32(0),
        next_self_obs=obs,
        remaining=remaining(jnp.stack([state.t, after.t]), params),
    )


def observe(state: LifeState, params: Params) -> Float[Array, "D"]:
    """The person's observation, the same as in the queue."""
    return describe(state.person, params, state.t)


def snapshot(state: LifeState) -> Snapshot:
    """A population of one."""
    people = state.person[..., None, :]
    return Snapshot(people[..., GROUP].astype(jnp.int32), people[..., TRUE], people[..., OBSERVED])


def _wait(u: Float[Array, ""], params: Params) -> Int[Array, ""]:
    """Steps in which somebody else applies, from a uniform number: geometric with probability 1 / population."""
    return jnp.floor(jnp.log1p(-u) / jnp.log1p(-1 / params.population)).astype(jnp.int32)
