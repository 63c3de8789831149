"""Rules for allocations: how many units each group gets."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bisimulator.core import Act, Allocation, Decisions, Env, Params, Scenario, State, Step
from bisimulator.policies.policy import DependsOn, Policy
from bisimulator.policies.rules import NoConfig, Rule
from bisimulator.policies.treating import TreatAtRandom
from bisimulator.simulation import episode_by_steps


def _allocation(env: Env) -> Allocation:
    if env.scenario.allocation is None:
        raise ValueError(f"{env.name!r} allocates nothing; use an environment that does, such as 'attention'")
    return env.scenario.allocation


def _draw(env: Env, key: Key[Array, ""], chances: Float[Array, "... G"]) -> Array:
    """The action that sends each unit to a group by itself, with these chances."""
    allocation = _allocation(env)
    units, logits = allocation.units(env.params), jnp.log(jnp.maximum(chances, 1e-30))
    groups = jax.random.categorical(key, logits, shape=(units, *chances.shape[:-1]))
    return allocation.action(jax.nn.one_hot(groups, env.num_groups, dtype=jnp.int32).sum(0), env.params)


class Uniform(Policy):
    """Each unit goes to a group by itself, to all groups with the same probability."""

    def bind(self, env: Env) -> Act:
        return lambda key, obs: _draw(env, key, jnp.ones((*obs.shape[:-1], env.num_groups)))


class Proportional(Policy):
    """Each unit goes to a group by itself, with a probability proportional to its true rate: an oracle."""

    depends_on: ClassVar[DependsOn] = "episode"

    def bind(self, env: Env) -> Act:
        """The policy for the initial rates, where no episode is at hand."""
        rates = _allocation(env).rates(env.scenario.reset(jax.random.key(0), env.params))
        return lambda key, obs: _draw(env, key, jnp.broadcast_to(rates, (*obs.shape[:-1], env.num_groups)))

    def rollout(self, env: Env, key: Key[Array, ""], horizon: int) -> tuple[Decisions, State]:
        """Step by step, with the true rates as observations."""
        scenario = _seeing_rates(env.scenario, _allocation(env))
        act = lambda key, obs: _draw(env, key, obs)  # noqa: E731
        return episode_by_steps(scenario, key, act, env.params, horizon)


def _seeing_rates(scenario: Scenario, allocation: Allocation) -> Scenario:
    """The same scenario; observations are the true rates."""

    def step(key: Key[Array, ""], state: State, action: Array, params: Params) -> tuple[State, Step]:
        state, out = scenario.step(key, state, action, params)
        rates = allocation.rates(state)
        return state, dataclasses.replace(out, obs=rates, next_self_obs=rates)

    def observe(state: State, params: Params) -> Float[Array, "G"]:
        return allocation.rates(state)

    return dataclasses.replace(scenario, step=step, observe=observe)


class AnyNumbers(Policy):
    """An action at random: every number between the bounds of the action space is as likely."""

    def bind(self, env: Env) -> Act:
        low, high = env.action_space.bounds

        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Array:
            return jax.random.uniform(
                key, (*obs.shape[:-1], *env.action_space.shape), minval=low, maxval=high
            )

        return act


def _allocates(scenario: Scenario) -> bool:
    return scenario.allocation is not None


UNIFORM: Rule[NoConfig] = Rule(
    "Every unit to a group at random", lambda config, env: Uniform(), applies=_allocates
)
PROPORTIONAL: Rule[NoConfig] = Rule(
    "Every unit to a group at random, in proportion to the true rates",
    lambda config, env: Proportional(),
    applies=_allocates,
)
RANDOM: Rule[NoConfig] = Rule(
    "An action at random: an allocation, a threshold, or the treatment of somebody",
    lambda config, env: AnyNumbers() if env.scenario.network is None else TreatAtRandom(),
    applies=lambda scenario: (
        _allocates(scenario) or scenario.network is not None or scenario.admissions is not None
    ),
)
