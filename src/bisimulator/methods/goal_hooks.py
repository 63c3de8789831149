"""Training towards a fairness goal: any method, with the reward correction of `goals.control` on top."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from bisimulator.core import ANOTHER_BRANCH, Act, Env, Params, Scenario
from bisimulator.goals import Goal
from bisimulator.goals.control import Controller, ControlState, GoalConfig
from bisimulator.goals.lives import FEATURES, LifeMeasure, LifeState
from bisimulator.goals.moments import decision_moments, group_moments
from bisimulator.methods.hooks import Hook, Method, Transitions

# people of whom it is known from the beginning how their lives begin: 256 times as many as are drawn at once
_DRAWN, _DRAWS = 1024, 256


class GoalState(eqx.Module):
    inner: PyTree  # the state of the method underneath
    control: ControlState
    lives: LifeState | None = None  # if the training is on lives


@dataclasses.dataclass(frozen=True)
class GoalHooks(Method):
    """A method with a goal on top; every hook of the method underneath stays in force."""

    controller: Controller
    inner: Method
    visits: float  # how often a person applies on average
    horizon: int  # decisions of an episode
    balanced: bool = False  # train on equally many lives of every group
    lives: LifeMeasure | None = None

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> GoalState:
        lives = None if self.lives is None else self._known_lives(self.lives, key, env, num_envs)
        return GoalState(self.inner.init(key, env, num_envs), self.controller.init(), lives)

    def _known_lives(self, measure: LifeMeasure, key: Key[Array, ""], env: Env, num_envs: int) -> LifeState:
        """What is known of lives before the first one: how those of many people begin."""
        k_centres, k_lives, k_starts = jax.random.split(jax.random.fold_in(key, ANOTHER_BRANCH), 3)
        lives = measure.init(
            k_lives,
            _first_observations(k_centres, env, FEATURES - 1)[0],
            num_envs=num_envs,
            num_groups=env.num_groups,
            group_entries=env.group_entries,
            num_moments=self.controller.num_moments,
        )

        def add(lives: LifeState, key: Key[Array, ""]) -> tuple[LifeState, None]:
            return lives.with_starts(*_first_observations(key, env, _DRAWN)), None

        return jax.lax.scan(add, lives, jax.random.split(k_starts, _DRAWS))[0]

    def measure(self, state: GoalState, batch: Transitions) -> GoalState:
        moments, group = self._moments(batch)
        lives, of_lives = state.lives, None
        if self.lives is not None and lives is not None:
            lives = self.lives.measure(lives, batch.obs, moments, group, batch.terminated, batch.truncated)
            of_lives = self.lives.moments(lives)
        control = self.controller.measure(state.control, moments, group, of_lives)
        return GoalState(self.inner.measure(state.inner, batch), control, lives)

    def learn(self, key: Key[Array, ""], state: GoalState, batch: Transitions) -> tuple[GoalState, PyTree]:
        inner, extras = self.inner.learn(key, state.inner, batch)
        return dataclasses.replace(state, inner=inner), extras

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

    def training_params(self, params: Params) -> Params:
        params = self.inner.training_params(params)
        if not self.balanced:
            return params
        probs = jnp.full_like(params.group_probs, 1 / params.num_groups)
        balanced: Params = eqx.tree_at(lambda p: p.group_probs, params, probs)
        return balanced

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
        return dataclasses.replace(state, inner=inner)

    def describe(self, state: GoalState) -> dict[str, Array]:
        """The method's own, and of every demand its multipliers and slacks."""
        return {**self.inner.describe(state.inner), **self.controller.describe(state.control)}

    def diagnostics(self, state: GoalState) -> dict[str, Array]:
        """The method's own, and of every demand its largest multiplier and its violation."""
        return {**self.inner.diagnostics(state.inner), **self.controller.diagnostics(state.control)}

    def used_hooks(self) -> frozenset[Hook]:
        own: frozenset[Hook] = frozenset({"measure", "reward"})
        return self.inner.used_hooks() | own | ({"training_params"} if self.balanced else frozenset())

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


def _first_observations(
    key: Key[Array, ""], env: Env, number: int
) -> tuple[Float[Array, "N D"], Int[Array, "N"]]:
    """Of new people, and their groups."""

    def one(key: Key[Array, ""]) -> tuple[Float[Array, "D"], Int[Array, ""]]:
        state = env.scenario.reset(key, env.params)
        return env.scenario.observe(state, env.params), env.scenario.snapshot(state).group[0]

    return jax.vmap(one)(jax.random.split(key, number))


class Grouped(eqx.Module):
    """Data per transition of a method with a goal in streams."""

    inner: PyTree  # the extras of the method underneath
    group: Int[Array, "*B"]


@dataclasses.dataclass(frozen=True)
class GoalStreams(GoalHooks):
    """A goal on lives, for a solver with reward streams: every feature of the demands has its own value head.

    What a value head estimates does not depend on the multipliers, so these can move without the values lagging behind.
    A life is about one group, so a policy that sees the group can take the advantages of each group in units of their
    own size: otherwise what is paid for small groups drowns the others. A policy that does not see it has to weigh the
    groups by their sizes, however often it meets them.
    """

    group_blind: bool = False  # the policy does not see the group

    def learn(self, key: Key[Array, ""], state: GoalState, batch: Transitions) -> tuple[GoalState, PyTree]:
        after, extras = super().learn(key, state, batch)
        return after, Grouped(extras, batch.group)

    def reward(self, state: GoalState, batch: Transitions, extras: Grouped) -> Float[Array, "*B"]:
        return self.inner.reward(state.inner, batch, extras.inner)

    def num_streams(self, env: Env) -> int:
        return self.controller.num_features + self.inner.num_streams(env)

    def streams(self, state: GoalState, batch: Transitions) -> Float[Array, "*B K"]:
        features = self.controller.features(self._moments(batch)[0])
        return jnp.concatenate([features, self.inner.streams(state.inner, batch)], -1)

    def advantage(
        self, state: GoalState, advantages: Float[Array, "B 1+K"], extras: Grouped
    ) -> Float[Array, "B"]:
        own, features, inner = jnp.split(advantages, [1, 1 + self.controller.num_features], axis=-1)
        of_group = jax.nn.one_hot(extras.group, self.controller.num_groups, axis=0)
        prices = jax.vmap(_of_each, (1, None))(self.controller.prices(state.control), of_group)
        of_reward, of_goal = own[:, 0], (prices * features.T).sum(0)
        if self.group_blind:
            combined = of_reward + of_goal
            if self.balanced:
                combined *= self.controller.num_groups * jnp.asarray(self.controller.shares)[extras.group]
        else:
            of_reward, of_goal = (x - _of_each(_means(x, of_group), of_group) for x in (of_reward, of_goal))
            square = _of_each(_means(of_reward**2 + of_goal**2, of_group), of_group)
            combined = (of_reward + of_goal) / jnp.sqrt(square + 1e-6)
        return self.inner.advantage(
            state.inner, jnp.concatenate([combined[:, None], inner], -1), extras.inner
        )

    def used_hooks(self) -> frozenset[Hook]:
        return super().used_hooks() | {"learn", "num_streams", "streams", "advantage"}


def _means(x: Float[Array, "B"], of_group: Float[Array, "G B"]) -> Float[Array, "G"]:
    return (of_group * x[None]).sum(1) / jnp.maximum(of_group.sum(1), 1.0)


def _of_each(of_groups: Float[Array, "G"], of_group: Float[Array, "G B"]) -> Float[Array, "B"]:
    """What everybody's group has. By sums, because small gathers and products take XLA three times as long."""
    return (of_groups[:, None] * of_group).sum(0)


def with_goal(
    goal: Goal,
    env: Env,
    config: GoalConfig | None = None,
    *,
    lives: bool = False,
    streams: bool = False,
    group_blind: bool = False,
) -> Callable[[Method], GoalHooks]:
    """What makes of any method one that also pursues a goal in an environment.

    Args:
        goal: the goal.
        env: the environment.
        config: how the multipliers are controlled.
        lives: whether the training is on single lives.
        streams: on lives, by reward streams (`GoalStreams`), for a solver that has them.
        group_blind: whether the policy does not see the group.
    """
    visits = env.horizon / env.params.population
    config = config or GoalConfig()
    # a policy that sees the group is as good for each, however often it meets it; one that does not needs weights,
    # which only streams have
    balanced = lives and config.balanced and (streams or not group_blind)
    shares = tuple(np.asarray(env.params.group_probs, np.float64).tolist()) if balanced else None
    controller = Controller(goal, config, env.num_groups, env.params.num_scores, shares)
    measure = LifeMeasure(config.window, config.recent) if lives else None
    if lives and streams:
        return lambda method: GoalStreams(
            controller, method, visits, env.horizon, balanced, measure, group_blind
        )
    return lambda method: GoalHooks(controller, method, visits, env.horizon, balanced, measure)
