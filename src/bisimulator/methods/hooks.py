"""Hooks: how a fairness method changes an unmodified solver. By default, every hook does nothing.

A method sees the data of one seed; solvers `vmap` it over seeds. Its state is stored next to the state of the solver.
Shapes: B transitions with any leading axes, D observation entries, K extra reward streams.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeAlias, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree
from typing_extensions import TypeVar

from bisimulator.core import Act, Env, Params, Scenario, Tallies, View
from bisimulator.policies.rules import NO_CONFIG, C

M = TypeVar("M", default=PyTree)  # the state of a method
X = TypeVar("X", default=PyTree)  # its extras: data per transition from `learn` to `reward` and `advantage`

_EMPTY: Any = ()  # the state and the extras of a method that has none


class Transitions(eqx.Module):
    """Decisions as a solver collects them. Leading axes: (T, E) in a rollout, (B,) from a replay buffer."""

    obs: Float[Array, "*B D"]
    action: Int[Array, "*B"] | Float[Array, "*B A"]
    accepted: Bool[Array, "*B"]  # whether the action accepts the person
    reward: Float[Array, "*B"]
    next_obs: Float[Array, "*B D"]  # before any reset, so that truncated episodes can be bootstrapped
    terminated: Bool[Array, "*B"]
    truncated: Bool[Array, "*B"]
    group: Int[Array, "*B"]
    qualified: Bool[Array, "*B"]
    next_self_obs: Float[Array, "*B D"]
    tallies: Tallies | None = None  # of decisions about all groups at once
    remaining: Float[Array, "*B 2"] | None = None  # share of the episode before and after, if the step tells

    def supply_and_demand(self, num_groups: int) -> tuple[Float[Array, "*B G"], Float[Array, "*B G"]]:
        """What every group received and needed. Of applicants: whether a qualified one was accepted, and applied."""
        if self.tallies is not None:
            return self.tallies["supply"], self.tallies["demand"]
        demand = jax.nn.one_hot(self.group, num_groups) * self.qualified[..., None]
        return demand * self.accepted[..., None], demand


Hook: TypeAlias = Literal[
    "measure",
    "learn",
    "reward",
    "num_streams",
    "streams",
    "advantage",
    "objective",
    "observe_params",
    "training_params",
    "adapt_at",
    "adapt",
]
HOOKS: frozenset[Hook] = frozenset(get_args(Hook))


class Method(Generic[M, X]):
    """Base class of fairness methods. Its hooks do nothing, so it is the plain solver.

    Subclasses are frozen dataclasses, so that a compiled program can be cached per method and configuration.

    Example:
        >>> @dataclasses.dataclass(frozen=True)
        ... class HalfReward(Method):
        ...     def reward(self, state, batch, extras):
        ...         return batch.reward / 2
    """

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> M:
        """The state of the method at the start of training."""
        state: M = _EMPTY
        return state

    def measure(self, state: M, batch: Transitions) -> M:
        """Measure the current policy on its newest decisions (T, E); called before `learn`."""
        return state

    def learn(self, key: Key[Array, ""], state: M, batch: Transitions) -> tuple[M, X]:
        """Learn from a new batch (T, E). Returns the state, and extras with leading axes (T, E) or ()."""
        return state, _EMPTY

    def reward(self, state: M, batch: Transitions, extras: X) -> Float[Array, "*B"]:
        """The reward that the solver maximises."""
        return batch.reward

    def num_streams(self, env: Env) -> int:
        """The number of extra reward streams and value heads."""
        return 0

    def streams(self, state: M, batch: Transitions) -> Float[Array, "*B K"]:
        """Extra reward streams, each with its own value head and advantage."""
        return jnp.zeros((*batch.reward.shape, 0))

    def advantage(self, state: M, advantages: Float[Array, "B 1+K"], extras: X) -> Float[Array, "B"]:
        """Combine the advantages of the reward and the streams; by default the reward's, standardised."""
        return standardise(advantages[:, 0])

    def objective(
        self,
        state: M,
        ratio: Float[Array, "B"],
        advantage: Float[Array, "B"],
        clip: float,
    ) -> Float[Array, "B"]:
        """What the policy maximises per transition; by default PPO's clipped objective.

        Args:
            state: the state of the method.
            ratio: probability of the action under the new policy, divided by that under the old one.
            advantage: what the hook `advantage` returned.
            clip: PPO's option.
        """
        return jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)

    def observe_params(self, state: M, params: Params) -> Params:
        """The parameters of the environment with the observation dynamics of the method."""
        return params

    def training_params(self, params: Params) -> Params:
        """The parameters of the environment that training decisions are drawn from."""
        return params

    def adapt_at(self, updates: int) -> tuple[int, ...]:
        """The updates after which `adapt` is called; `updates` is their number in the whole training."""
        return ()

    def adapt(
        self, key: Key[Array, ""], state: M, act: Act, scenario: Scenario, params: Params, horizon: int
    ) -> M:
        """Change the observation dynamics, using whole episodes under the current policy `act`."""
        return state

    def describe(self, state: M) -> dict[str, Array]:
        """Arrays of the state that are stored with the results."""
        return {}

    def diagnostics(self, state: M) -> dict[str, Array]:
        """Single numbers of the state that are logged with the solver's own."""
        return {}

    def used_hooks(self) -> frozenset[Hook]:
        """The hooks that the method overrides; a solver that does not call them refuses it."""
        return frozenset(hook for hook in HOOKS if getattr(type(self), hook) is not getattr(Method, hook))


@dataclasses.dataclass(frozen=True)
class Plain(Method[tuple[()], tuple[()]]):
    """No fairness method."""


@dataclasses.dataclass(frozen=True)
class LearnedMethod(Generic[C]):
    """What the file of a method registers: a solver by name, and hooks from a configuration and an environment.

    Example:
        >>> HALF_REWARD = LearnedMethod(
        ...     summary="PPO with half the reward", published="", solver="ppo", build=lambda config, env: HalfReward()
        ... )
        >>> bisimulator.register("method", "half-reward", HALF_REWARD)
    """

    summary: str  # one line, shown by `bisimulator list`
    published: str  # its name in the paper's tables, or ""
    solver: str  # "ppo" or "dqn"
    config: C = NO_CONFIG  # the default configuration
    for_goal: Callable[[C], C] = lambda config: config  # the default with a goal, from the one without
    in_scenario: Mapping[str, C] = dataclasses.field(default_factory=dict)  # other defaults, by scenario
    view: View = "queue"  # what it is trained on by default, where the scenario has it
    build: Callable[[C, Env], Method] = lambda config, env: Plain()
    applies: Callable[[Scenario], bool] = lambda scenario: scenario.applicants


def standardise(x: Float[Array, "B"]) -> Float[Array, "B"]:
    """Shift and scale to mean 0 and standard deviation 1."""
    return (x - x.mean()) / (x.std() + 1e-8)
