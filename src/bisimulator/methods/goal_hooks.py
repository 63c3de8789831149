"""Training towards a fairness goal: any method, with the reward correction of `goals.control` on top."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from bisimulator.core import Act, Env, Params, Scenario
from bisimulator.goals import Goal
from bisimulator.goals.control import Controller, ControlState, GoalConfig
from bisimulator.goals.moments import decision_moments, group_moments
from bisimulator.methods.hooks import Hook, Method, Transitions


class GoalState(eqx.Module):
    inner: PyTree  # the state of the method underneath
    control: ControlState


@dataclasses.dataclass(frozen=True)
class GoalHooks(Method):
    """A method with a goal on top; every hook of the method underneath stays in force."""

    controller: Controller
    inner: Method
    visits: float  # how often a person applies on average
    horizon: int  # decisions of an episode

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> GoalState:
        return GoalState(self.inner.init(key, env, num_envs), self.controller.init())

    def measure(self, state: GoalState, batch: Transitions) -> GoalState:
        control = self.controller.measure(state.control, *self._moments(batch))
        return GoalState(self.inner.measure(state.inner, batch), control)

    def learn(self, key: Key[Array, ""], state: GoalState, batch: Transitions) -> tuple[GoalState, PyTree]:
        inner, extras = self.inner.learn(key, state.inner, batch)
        return GoalState(inner, state.control), extras

    def reward(self, state: GoalState, batch: Transitions, extras: PyTree) -> Float[Array, "*B"]:
        correction = self.controller.correction(state.control, *self._moments(batch))
        if batch.tallies is not None:
            correction = correction.sum(-1)
        return self.inner.reward(state.inner, batch, extras) + correction

    def num_streams(self, env: Env) -> int:
        return self.inner.num_streams(env)

    def streams(self, state: GoalState, batch: Transitions) -> Float[Array, "*B K"]:
        return self.inner.streams(state.inner, batch)

    def advantage(
        self, state: GoalState, advantages: Float[Array, "B 1+K"], extras: PyTree
    ) -> Float[Array, "B"]:
        return self.inner.advantage(state.inner, advantages, extras)

    def objective(
        self,
        state: GoalState,
        ratio: Float[Array, "B"],
        advantage: Float[Array, "B"],
        clip: float,
    ) -> Float[Array, "B"]:
        return self.inner.objective(state.inner, ratio, advantage, clip)

    def observe_params(self, state: GoalState, params: Params) -> Params:
        return self.inner.observe_params(state.inner, params)

    def adapt_at(self, updates: int) -> tuple[int, ...]:
        return self.inner.adapt_at(updates)

    def adapt(
        self,
        key: Key[Array, ""],
        state: GoalState,
        act: Act,
        scenario: Scenario,
        params: Params,
        horizon: int,
    ) -> GoalState:
        inner = self.inner.adapt(key, state.inner, act, scenario, params, horizon)
        return GoalState(inner, state.control)

    def describe(self, state: GoalState) -> dict[str, Array]:
        """The method's own, and of every demand its multipliers and slacks."""
        return {**self.inner.describe(state.inner), **self.controller.describe(state.control)}

    def diagnostics(self, state: GoalState) -> dict[str, Array]:
        """The method's own, and of every demand its largest multiplier and its violation."""
        return {**self.inner.diagnostics(state.inner), **self.controller.diagnostics(state.control)}

    def used_hooks(self) -> frozenset[Hook]:
        return self.inner.used_hooks() | {"measure", "reward"}

    def _moments(self, batch: Transitions) -> tuple[Float[Array, "*B M"], Int[Array, "*B"]]:
        """Moments and groups; a decision about all groups counts as one on each of them, (*B G M)."""
        if batch.tallies is not None:
            moments = group_moments(
                batch.tallies, horizon=self.horizon, num_scores=self.controller.num_scores
            )
            return moments, jnp.broadcast_to(jnp.arange(moments.shape[-2]), moments.shape[:-1])
        score = jnp.round(batch.next_self_obs[..., 0] * max(self.controller.num_scores - 1, 1)).astype(
            jnp.int32
        )
        moments = decision_moments(
            batch.reward,
            batch.accepted,
            batch.qualified,
            batch.terminated,
            score,
            visits=self.visits,
            num_scores=self.controller.num_scores,
        )
        return moments, batch.group


def with_goal(goal: Goal, env: Env, config: GoalConfig | None = None) -> Callable[[Method], GoalHooks]:
    """What makes of any method one that also pursues a goal in an environment."""
    visits = env.horizon / env.params.population
    controller = Controller(goal, config or GoalConfig(), env.num_groups, env.params.num_scores)
    return lambda method: GoalHooks(controller, method, visits, env.horizon)
