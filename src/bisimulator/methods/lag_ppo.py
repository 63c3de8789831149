"""Lag-PPO (Satija et al. 2023): PPO under the demographic-parity constraint |J_i - J_j| <= epsilon, by dual ascent.

Every group has its own reward stream (the reward of decisions on its people) and value head. With i and j the groups
with the highest and the lowest return,
    A = A_r - lambda (A_i - A_j),    lambda <- max(0, lambda + eta (J_i - J_j - epsilon)).
J_g is the reward per decision on group g, averaged over recent batches.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bisimulator.core import Env
from bisimulator.errors import check_options, check_real
from bisimulator.methods._group_returns import GroupReturns, GroupStreams, add_batch
from bisimulator.methods.hooks import LearnedMethod, Transitions, standardise


@dataclasses.dataclass(frozen=True)
class Config:
    """Hyperparameters. The authors give none for these scenarios; benchmarks/tuning.csv has all that were tried."""

    epsilon: float = 0.05  # allowed difference of rewards per decision
    eta: float = 0.01  # step size of the dual ascent
    max_lambda: float = 2.0  # upper bound of lambda
    memory: float = 0.9  # decay per batch of the sums that J is computed from

    def __post_init__(self) -> None:
        check_options(self)
        check_real("memory", self.memory, min=0, max=1)


class State(GroupReturns):
    """The groups' rewards and the multiplier."""

    dual: Float[Array, ""]  # lambda


@dataclasses.dataclass(frozen=True)
class Lagrangian(GroupStreams[State]):
    """The hooks of Lag-PPO."""

    config: Config

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> State:
        return State(jnp.zeros(self.num_groups), jnp.zeros(self.num_groups), jnp.float32(0))

    def learn(self, key: Key[Array, ""], state: State, batch: Transitions) -> tuple[State, tuple[()]]:
        c, after = self.config, add_batch(state, batch, self.config.memory)
        gap = after.returns.max() - after.returns.min()
        dual = jnp.clip(state.dual + c.eta * (gap - c.epsilon), 0.0, c.max_lambda)
        return eqx.tree_at(lambda s: s.dual, after, dual), ()

    def advantage(
        self, state: State, advantages: Float[Array, "B 1+K"], extras: tuple[()]
    ) -> Float[Array, "B"]:
        of_group = advantages[:, 1:]
        high, low = state.returns.argmax(), state.returns.argmin()
        return standardise(advantages[:, 0] - state.dual * (of_group[:, high] - of_group[:, low]))

    def describe(self, state: State) -> dict[str, Array]:
        return {"lambda": state.dual, "group_rewards": state.returns}


def build(config: Config, env: Env) -> Lagrangian:
    return Lagrangian(env.num_groups, config)


LAG_PPO = LearnedMethod(
    summary="PPO under a demographic-parity constraint on the groups' returns, by dual ascent",
    published="Lag-PPO",
    solver="ppo",
    config=Config(),
    build=build,
)
