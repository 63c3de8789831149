"""Lag-PPO (Satija et al. 2023): PPO under the demographic-parity constraint |J_i - J_j| <= epsilon, by dual ascent.

J_g is what group g receives per decision, averaged over recent batches: approvals, as in the authors' lending
environment, or with `constrain` "reward" the reward of the decision maker. Every group has its own stream of it and
value head. With i and j the groups that receive most and least,
    A = A_r - lambda (A_i - A_j),    lambda <- max(0, lambda + eta (J_i - J_j - epsilon)).

Options change how the penalty enters. `combine` "ratio": A = (A_r - lambda (A_i - A_j)) / (1 + lambda), with A_r and
A_i - A_j standardised first and A not again. `penalty` "reward": r' = r - lambda (c_i - c_j) and no streams, where c_g
is what the decision gives if it is on group g, else 0. `ascent` "episode": lambda moves only after batches in which an
episode ended.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bisimulator.core import Env
from bisimulator.errors import check_options, check_real
from bisimulator.methods._group_returns import (
    Constrain,
    GroupReturns,
    GroupStreams,
    add_batch,
    constrained,
)
from bisimulator.methods.hooks import LearnedMethod, Transitions, standardise

Penalty: TypeAlias = Literal["advantage", "reward"]
Combine: TypeAlias = Literal["sum", "ratio"]
Ascent: TypeAlias = Literal["batch", "episode"]


@dataclasses.dataclass(frozen=True)
class Config:
    """Hyperparameters. The authors give none for these scenarios; benchmarks/tuning.csv has all that were tried."""

    constrain: Constrain = "approvals"  # what groups should receive equally much of: approvals or reward
    epsilon: float = 0.05  # allowed difference per decision
    eta: float = 0.01  # step size of the dual ascent
    max_lambda: float = 2.0  # upper bound of lambda
    memory: float = 0.9  # decay per batch of the sums that J is computed from
    penalty: Penalty = "advantage"  # what the penalty is subtracted from: the advantage or the reward
    combine: Combine = "sum"  # of the advantages: their sum, or the sum divided by 1 + lambda
    ascent: Ascent = "batch"  # when lambda moves: after every batch, or when an episode ended

    def __post_init__(self) -> None:
        check_options(self)
        check_real("memory", self.memory, min=0, max=1)


class State(GroupReturns):
    """What the groups received, and the multiplier."""

    dual: Float[Array, ""]  # lambda


@dataclasses.dataclass(frozen=True)
class Lagrangian(GroupStreams[State]):
    """The hooks of Lag-PPO."""

    config: Config

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> State:
        return State(jnp.zeros(self.num_groups), jnp.zeros(self.num_groups), jnp.float32(0))

    def learn(self, key: Key[Array, ""], state: State, batch: Transitions) -> tuple[State, tuple[()]]:
        c = self.config
        after = add_batch(state, constrained(batch, c.constrain), c.memory)
        gap = after.returns.max() - after.returns.min()
        dual = jnp.clip(state.dual + c.eta * (gap - c.epsilon), 0.0, c.max_lambda)
        if c.ascent == "episode":
            dual = jnp.where((batch.terminated | batch.truncated).any(), dual, state.dual)
        return eqx.tree_at(lambda s: s.dual, after, dual), ()

    def num_streams(self, env: Env) -> int:
        return 0 if self.config.penalty == "reward" else super().num_streams(env)

    def streams(self, state: State, batch: Transitions) -> Float[Array, "*B K"]:
        if self.config.penalty == "reward":
            return jnp.zeros((*batch.reward.shape, 0))
        return super().streams(state, constrained(batch, self.config.constrain))

    def reward(self, state: State, batch: Transitions, extras: tuple[()]) -> Float[Array, "*B"]:
        if self.config.penalty == "advantage":
            return batch.reward
        return batch.reward - state.dual * self._difference(
            state, super().streams(state, constrained(batch, self.config.constrain))
        )

    def advantage(
        self, state: State, advantages: Float[Array, "B 1+K"], extras: tuple[()]
    ) -> Float[Array, "B"]:
        if self.config.penalty == "reward":
            return standardise(advantages[:, 0])
        difference = self._difference(state, advantages[:, 1:])
        if self.config.combine == "ratio":
            each = standardise(advantages[:, 0]) - state.dual * standardise(difference)
            return each / (1 + state.dual)
        return standardise(advantages[:, 0] - state.dual * difference)

    def _difference(self, state: State, of_group: Float[Array, "*B G"]) -> Float[Array, "*B"]:
        """What belongs to the group that receives most, minus what belongs to the one that receives least."""
        return of_group[..., state.returns.argmax()] - of_group[..., state.returns.argmin()]

    def describe(self, state: State) -> dict[str, Array]:
        return {"lambda": state.dual, "group_returns": state.returns}


def build(config: Config, env: Env) -> Lagrangian:
    return Lagrangian(env.num_groups, config)


LAG_PPO = LearnedMethod(
    summary="PPO under a demographic-parity constraint on the groups' approvals or returns, by dual ascent",
    published="Lag-PPO",
    solver="ppo",
    config=Config(),
    view="life",
    build=build,
)
