"""What a fairness method may do to an unmodified solver. Every hook defaults to doing nothing.

A method sees one seed's data; solvers `vmap` it over seeds. Its own learned state travels beside the solver's.
Shapes: B transitions in any leading arrangement, D observation entries, K extra reward streams.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from bisimulator.core import Act, Env, Params, Scenario
from bisimulator.policies import NoConfig


class Transitions(eqx.Module):
    """Decisions as a solver collects them. Leading axes (T, E) in a rollout, (B,) from a replay buffer."""

    obs: Float[Array, "*B D"]
    action: Int[Array, "*B"]
    accepted: Bool[Array, "*B"]  # whether the action accepts the person
    reward: Float[Array, "*B"]
    next_obs: Float[Array, "*B D"]  # before any reset, so that truncated episodes can be bootstrapped
    terminated: Bool[Array, "*B"]
    truncated: Bool[Array, "*B"]
    group: Int[Array, "*B"]
    qualified: Bool[Array, "*B"]
    next_self_obs: Float[Array, "*B D"]


Hook: TypeAlias = Literal[
    "learn", "reward", "num_streams", "streams", "advantage", "observe_params", "adapt_at", "adapt"
]
HOOKS: frozenset[Hook] = frozenset(get_args(Hook))


class Method:
    """The plain solver: no correction, no extra streams.

    Subclasses are frozen dataclasses, so that a compiled program can be kept for a method and its configuration.
    """

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> PyTree:
        """The method's own state at the start of training."""
        return ()

    def learn(self, key: Key[Array, ""], state: PyTree, batch: Transitions) -> tuple[PyTree, PyTree]:
        """Learn from a fresh batch (T, E); returns the state and per-transition extras (leading (T, E)) or ()."""
        return state, ()

    def reward(self, state: PyTree, batch: Transitions, extras: PyTree) -> Float[Array, "*B"]:
        """The reward that the solver sees."""
        return batch.reward

    def num_streams(self, env: Env) -> int:
        """How many extra reward streams (and value heads) the method wants."""
        return 0

    def streams(self, state: PyTree, batch: Transitions) -> Float[Array, "*B K"]:
        """Extra reward streams, each with its own value head and advantage."""
        return jnp.zeros((*batch.reward.shape, 0))

    def advantage(
        self, state: PyTree, advantages: Float[Array, "B 1+K"], extras: PyTree
    ) -> Float[Array, "B"]:
        """One advantage from the reward's and the streams'; by default the reward's, standardised."""
        return standardise(advantages[:, 0])

    def observe_params(self, state: PyTree, params: Params) -> Params:
        """The environment's params with the method's observation dynamics in force."""
        return params

    def adapt_at(self, updates: int) -> tuple[int, ...]:
        """After which of the training's updates `adapt` is called."""
        return ()

    def adapt(
        self, key: Key[Array, ""], state: PyTree, act: Act, scenario: Scenario, params: Params, horizon: int
    ) -> PyTree:
        """Change the observation dynamics, with whole episodes under the current policy at hand."""
        return state

    def describe(self, state: PyTree) -> dict[str, Any]:
        """What of the method's state is worth storing with the results, as arrays."""
        return {}


@dataclasses.dataclass(frozen=True)
class Plain(Method):
    """No method at all."""


@dataclasses.dataclass(frozen=True)
class LearnedMethod:
    """What a method's file registers: a solver by name, and hooks made from a configuration and an environment."""

    summary: str
    published: str  # its name in the paper's tables, or ""
    solver: str  # "ppo" or "dqn"
    config: Any = NoConfig()  # noqa: RUF009 (frozen)
    build: Callable[[Any, Env], Method] = lambda config, env: Plain()


def used_hooks(method: Method) -> frozenset[Hook]:
    """The hooks that a method implements."""
    return frozenset(hook for hook in HOOKS if getattr(type(method), hook) is not getattr(Method, hook))


def standardise(x: Float[Array, "B"]) -> Float[Array, "B"]:
    return (x - x.mean()) / (x.std() + 1e-8)
