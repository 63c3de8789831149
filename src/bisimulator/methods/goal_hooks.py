"""Training towards a fairness goal: dual ascent on its demands, as a correction of the reward.

With slack_d the slack of demand d on the groups' rates (see `goals`), measured on the newest decisions,
    I_d <- max(0, I_d - eta slack_d),    lambda_d = max(0, I_d - k_p slack_d)
(a PI controller: Stooke et al. 2020). The solver is paid r + sum over d of lambda_d * d slack_d / d decision, so it
maximises the Lagrangian of "the highest return that meets the goal". Any method can run underneath.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bisimulator.core import Act, Env, Params, Scenario
from bisimulator.errors import check_real
from bisimulator.goals import Demand, Goal
from bisimulator.goals.moments import M, decision_moments
from bisimulator.methods.hooks import Hook, Method, Transitions


@dataclasses.dataclass(frozen=True)
class GoalConfig:
    """How the multipliers are controlled."""

    window: float = 10_000.0  # decisions over which the groups' rates are averaged
    eta: float = 0.05  # integral gain: by how much a multiplier grows in 512 decisions per unit of violation
    proportional: float = 10.0  # proportional gain: how strongly it reacts to the violation at the moment
    max_multiplier: float = 50.0

    def __post_init__(self) -> None:
        check_real("window", self.window, min=1)
        for name, value in (("eta", self.eta), ("proportional", self.proportional)):
            check_real(name, value, min=0)
        check_real("max_multiplier", self.max_multiplier, min=0)


_KNOWN = 1e-3  # of a decision: a group that was not seen for many windows demands nothing
_DECISIONS = 512  # decisions to which `eta` refers: PPO's batch


class GoalState(eqx.Module):
    inner: PyTree  # the state of the method underneath
    sums: Float[Array, "G M"]  # moments of the newest decisions
    integral: tuple[Float[Array, "D"], ...]  # one array per demand of the goal
    multipliers: tuple[Float[Array, "D"], ...]


@dataclasses.dataclass(frozen=True)
class GoalHooks(Method):
    """A method with a goal on top; every hook of the method underneath stays in force."""

    goal: Goal
    config: GoalConfig
    inner: Method
    num_groups: int
    num_scores: int
    visits: float  # how often a person applies on average

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> GoalState:
        zeros = tuple(jnp.zeros(demand.num_demands(self.num_groups)) for demand in self.goal.demands)
        sums = jnp.zeros((self.num_groups, M.FINAL + self.num_scores))
        return GoalState(self.inner.init(key, env, num_envs), sums, zeros, zeros)

    def measure(self, state: GoalState, batch: Transitions) -> GoalState:
        """Update the rates and the multipliers with decisions of the current policy."""
        c, number = self.config, batch.reward.size
        new = self._moments(batch).reshape(number, -1)
        sums = math.exp(-number / c.window) * state.sums
        sums = sums.at[batch.group.reshape(-1)].add(new)
        integral, multipliers = [], []
        for demand, before in zip(self.goal.demands, state.integral, strict=True):
            violation = -self.slack(demand, sums)
            after = jnp.clip(before + c.eta * number / _DECISIONS * violation, 0.0, c.max_multiplier)
            integral.append(after)
            multipliers.append(jnp.clip(after + c.proportional * violation, 0.0, c.max_multiplier))
        inner = self.inner.measure(state.inner, batch)
        return GoalState(inner, sums, tuple(integral), tuple(multipliers))

    def slack(self, demand: Demand, sums: Float[Array, "G M"]) -> Float[Array, "D"]:
        slack: Float[Array, "D"] = demand.slack(
            demand.rates(sums, jnp), sums[:, demand.denominator] > _KNOWN, jnp
        )
        return slack

    def learn(self, key: Key[Array, ""], state: GoalState, batch: Transitions) -> tuple[GoalState, PyTree]:
        inner, extras = self.inner.learn(key, state.inner, batch)
        return GoalState(inner, state.sums, state.integral, state.multipliers), extras

    def reward(self, state: GoalState, batch: Transitions, extras: PyTree) -> Float[Array, "*B"]:
        moments, correction = self._moments(batch), jnp.zeros(batch.reward.shape)
        for demand, multipliers in zip(self.goal.demands, state.multipliers, strict=True):
            whole, rates = state.sums[:, demand.denominator], demand.rates(state.sums, jnp)
            # d rate = (d numerator - rate * d denominator) / denominator. Denominators are relative to their mean, so
            # that a multiplier is in units of reward whatever the number of groups and decisions.
            mean = whole.sum() / jnp.maximum((whole > 0).sum(), 1)
            share = jnp.where(whole > 0, mean / jnp.maximum(whole, 1e-6), 0.0)
            price = demand.pressure(multipliers, rates, jnp) * share[:, None]
            change = demand.parts(moments) - rates[batch.group] * moments[..., demand.denominator, None]
            correction += (price[batch.group] * change).sum(-1)
        return self.inner.reward(state.inner, batch, extras) + correction

    def num_streams(self, env: Env) -> int:
        return self.inner.num_streams(env)

    def streams(self, state: GoalState, batch: Transitions) -> Float[Array, "*B K"]:
        return self.inner.streams(state.inner, batch)

    def advantage(
        self, state: GoalState, advantages: Float[Array, "B 1+K"], extras: PyTree
    ) -> Float[Array, "B"]:
        return self.inner.advantage(state.inner, advantages, extras)

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
        return GoalState(inner, state.sums, state.integral, state.multipliers)

    def describe(self, state: GoalState) -> dict[str, Array]:
        """The method's own, and of every demand its multipliers and slacks."""
        described = dict(self.inner.describe(state.inner))
        for demand, multipliers in zip(self.goal.demands, state.multipliers, strict=True):
            described[f"multiplier/{demand.name}"] = multipliers
            described[f"slack/{demand.name}"] = self.slack(demand, state.sums)
        return described

    def used_hooks(self) -> frozenset[Hook]:
        return self.inner.used_hooks() | {"measure", "reward"}

    def _moments(self, batch: Transitions) -> Float[Array, "*B M"]:
        score = jnp.round(batch.next_self_obs[..., 0] * max(self.num_scores - 1, 1)).astype(jnp.int32)
        return decision_moments(
            batch.reward,
            batch.accepted,
            batch.qualified,
            batch.terminated,
            score,
            visits=self.visits,
            num_scores=self.num_scores,
        )


def with_goal(goal: Goal, env: Env, config: GoalConfig | None = None) -> Callable[[Method], GoalHooks]:
    """What makes of any method one that also pursues a goal in an environment."""
    visits = env.horizon / env.params.population
    control = config or GoalConfig()
    return lambda method: GoalHooks(goal, control, method, env.num_groups, env.params.num_scores, visits)
