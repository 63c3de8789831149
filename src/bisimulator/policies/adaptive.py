"""Policies that are fitted while an episode goes on: to the population as it is, or to what has been seen of it.

Between two fits such a policy is a table pi(accept | group, observed score). A fit counts people: how many of each
group stand at each observed score, and what share of them is qualified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import Act, Decisions, Env, Params, Scenario, State, sum_at
from bisimulator.errors import check_int, shown
from bisimulator.policies.fixed import Table, require_applicants
from bisimulator.policies.policy import DependsOn, Policy
from bisimulator.simulation.episodes import Carry, advance, begin


class Counts(eqx.Module):
    """What a fit is made from."""

    people: Float[Array, "G C"]  # how many stand at each observed score
    chance: Float[Array, "G C"]  # which share of them is qualified


Knowledge = Literal["population", "seen", "cohort"]

# fit(counts, gain, loss) -> pi(accept | group, score)
Fit = Callable[[Counts, Float[Array, ""], Float[Array, ""]], Float[Array, "G C"]]


class Memory(eqx.Module):
    """What a learned policy has seen: applicants, and what became of those whom it accepted."""

    applied: Int[Array, "G C"]
    accepted: Int[Array, "G C"]
    qualified: Int[Array, "G C"]


class Adaptive(Policy):
    """Fitted at the start and after every `every` decisions (0: never again) to what it knows.

    "population": everybody as they stand, with their true chances; an oracle. "seen": the applicants so far and the
    outcomes of those it accepted; it starts by accepting everybody and expects the best where it has seen nobody.
    "cohort": the records of as many other people, all accepted, with scores that nobody had raised yet.
    """

    fit: Fit = eqx.field(static=True)
    knows: Knowledge = eqx.field(static=True)
    every: int = eqx.field(static=True)
    depends_on: ClassVar[DependsOn] = "episode"

    def rollout(self, env: Env, key: Key[Array, ""], horizon: int) -> tuple[Decisions, State]:
        require_applicants(env)
        return episode_with_fits(env.scenario, key, self, env.params, horizon)

    def bind(self, env: Env) -> Act:
        """The policy for the initial distribution, where no episode is at hand."""
        state = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 100))
        counts = jax.vmap(lambda s: population_counts(env.scenario, s, env.params))(state)
        people = counts.people.sum(0)
        chance = (counts.chance * counts.people).sum(0) / jnp.maximum(people, 1)
        return Table(self.fit(Counts(people, chance), *env.params.accept_rewards)).bind(env)


def check_knowledge(knows: str, every: int) -> None:
    if knows not in get_args(Knowledge):
        raise ValueError(f"knows must be one of {', '.join(get_args(Knowledge))}, got {shown(knows)}")
    check_int("every", every, min=1 if knows == "seen" else 0)


def episode_with_fits(
    scenario: Scenario, key: Key[Array, ""], policy: Adaptive, params: Params, horizon: int
) -> tuple[Decisions, State]:
    """One episode, step by step, with the policy fitted on the way."""
    k_reset, k_steps, k_act, k_cohort = jax.random.split(key, 4)
    every = min(policy.every or horizon, horizon)
    rounds, rest = divmod(horizon, every)
    shape = (params.num_groups, params.num_scores)

    def fitted(memory: Memory, state: State) -> Float[Array, "G C"]:
        if policy.knows == "population":
            return policy.fit(population_counts(scenario, state, params), *params.accept_rewards)
        if policy.knows == "cohort":
            return policy.fit(cohort_counts(scenario, k_cohort, params), *params.accept_rewards)
        fit = policy.fit(seen_counts(memory), *params.accept_rewards)
        return jnp.where(memory.accepted.sum() > 0, fit, 1.0)

    def stretch(
        carry: tuple[Carry, Memory], times: Int[Array, "K"]
    ) -> tuple[tuple[Carry, Memory], Decisions]:
        place, memory = carry
        act = Table(fitted(memory, place[0])).bind(Env("", scenario, params))
        place, decisions = advance(scenario, (k_steps, k_act), act, params, place, times)
        return (place, remember(memory, decisions, scenario)), decisions

    carry = (begin(scenario, k_reset, params), Memory(*[jnp.zeros(shape, jnp.int32)] * 3))
    times = jnp.arange(rounds * every).reshape(rounds, every)
    carry, decisions = jax.lax.scan(stretch, carry, times)
    decisions = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), decisions)
    if rest:
        carry, last = stretch(carry, rounds * every + jnp.arange(rest))
        decisions = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), decisions, last)
    return decisions, carry[0][0]


def population_counts(scenario: Scenario, state: State, params: Params) -> Counts:
    """Everybody as they stand, with their true chances."""
    everybody = scenario.snapshot(state)
    seen = jnp.round(everybody.observed_score).astype(jnp.int32)
    chance = params.qualified_probs[everybody.group, everybody.true_score.astype(jnp.int32)]
    people, qualified = _count((everybody.group, seen), params, jnp.ones(seen.shape), chance)
    return Counts(people, jnp.where(people > 0, qualified / jnp.maximum(people, 1.0), params.qualified_probs))


def cohort_counts(scenario: Scenario, key: Key[Array, ""], params: Params) -> Counts:
    """Records of another population: true scores, and for each person one drawn outcome."""
    k_people, k_outcome = jax.random.split(key)
    everybody = scenario.snapshot(scenario.reset(k_people, params))
    score = everybody.true_score.astype(jnp.int32)
    succeeded = jax.random.bernoulli(k_outcome, params.qualified_probs[everybody.group, score])
    weights = jnp.ones(score.shape), succeeded.astype(jnp.float32)
    people, qualified = _count((everybody.group, score), params, *weights)
    return Counts(people, qualified / jnp.maximum(people, 1.0))


def _count(
    index: tuple[Int[Array, "N"], Int[Array, "N"]], params: Params, *weights: Float[Array, "N"]
) -> list[Float[Array, "G C"]]:
    """The sum of each of the weights at every group and score."""
    shape = (params.num_groups, params.num_scores)
    return [sum_at(shape, index, w).astype(jnp.float32) for w in weights]


def seen_counts(memory: Memory) -> Counts:
    """Applicants so far; the chance is the posterior mean under a prior of one qualified person."""
    return Counts(memory.applied.astype(jnp.float32), (memory.qualified + 1) / (memory.accepted + 1))


def remember(memory: Memory, decisions: Decisions, scenario: Scenario) -> Memory:
    """Outcomes of the rejected stay unknown."""
    group, scores = decisions.group, memory.applied.shape[1]
    score = jnp.round(decisions.obs[:, 0] * max(scores - 1, 1)).astype(jnp.int32)
    seen = decisions.valid.astype(jnp.int32)
    accepted = seen * scenario.accepts(decisions.action)
    return Memory(
        applied=memory.applied.at[group, score].add(seen),
        accepted=memory.accepted.at[group, score].add(accepted),
        qualified=memory.qualified.at[group, score].add(accepted * decisions.qualified),
    )
