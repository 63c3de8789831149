"""Policies that also look at the time: `pi_t(accept | group, score)`."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key
from numpy.typing import ArrayLike

from bisimulator.core import Act, Decisions, Env, Params, Scenario, State, Step
from bisimulator.errors import check_probabilities, check_shape
from bisimulator.policies.fixed import group_and_score, require_applicants
from bisimulator.policies.policy import DependsOn, Policy
from bisimulator.simulation import episode_by_steps


class Clock(Policy):
    """`pi_t(accept | group, score)` as an array (T, G, C): one table per step, as `Frontier.policy` returns."""

    probabilities: Float[Array, "T G C"]
    depends_on: ClassVar[DependsOn] = "time"

    def bind(self, env: Env) -> Act:
        """Acts on observations that end with the number of the step (`with_clock`)."""

        def act(key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
            step = obs[..., -1].astype(jnp.int32)
            chance = self.probabilities[step, *group_and_score(env, obs)]
            return (jax.random.uniform(key, chance.shape) < chance).astype(jnp.int32)

        return act

    def rollout(self, env: Env, key: Key[Array, ""], horizon: int) -> tuple[Decisions, State]:
        """Step by step: parallel episodes have no clock."""
        require_applicants(env)
        expected = (horizon, env.num_groups, env.params.num_scores)
        check_shape("the policy", self.probabilities, expected, f"steps x groups x scores of {env.name}")
        return episode_by_steps(with_clock(env.scenario), key, self.bind(env), env.params, horizon)


def with_clock(scenario: Scenario) -> Scenario:
    """The same scenario; every observation is followed by the number of the step."""

    def timed(obs: Float[Array, "D"], state: State) -> Float[Array, "E"]:
        return jnp.append(obs, state.t.astype(jnp.float32))

    def step(key: Key[Array, ""], state: State, action: Int[Array, ""], params: Params) -> tuple[State, Step]:
        state, out = scenario.step(key, state, action, params)
        return state, dataclasses.replace(
            out, obs=timed(out.obs, state), next_self_obs=timed(out.next_self_obs, state)
        )

    def observe(state: State, params: Params) -> Float[Array, "E"]:
        return timed(scenario.observe(state, params), state)

    return dataclasses.replace(scenario, step=step, observe=observe, parallel=None)


def clock(probabilities: ArrayLike) -> Clock:
    """Accept with probability `pi_t(accept | group, score)`, an array (steps, groups, scores)."""
    return Clock(jnp.asarray(check_probabilities("the policy", probabilities, ndim=(3,)), jnp.float32))
