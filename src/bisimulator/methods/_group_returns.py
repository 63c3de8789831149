"""What decisions give each group: one stream per group, and its mean over recent batches."""

from __future__ import annotations

import dataclasses
from typing import Literal, TypeAlias, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bisimulator.core import Env
from bisimulator.methods.hooks import Method, Transitions, standardise

# what a constraint compares groups by: how many are accepted, or what the decision maker earns
Constrain: TypeAlias = Literal["approvals", "reward"]


class GroupReturns(eqx.Module):
    """Decayed sums of rewards and decisions per group."""

    reward: Float[Array, "G"]
    decisions: Float[Array, "G"]

    @property
    def returns(self) -> Float[Array, "G"]:
        """J_g, the reward per decision."""
        return self.reward / jnp.maximum(self.decisions, 1e-6)


R = TypeVar("R", bound=GroupReturns)


def add_batch(sums: R, batch: Transitions, memory: float) -> R:
    """The sums after a batch (T, E); earlier batches count `memory` times as much as before."""
    of_group = jax.nn.one_hot(batch.group, sums.reward.size)
    after = (
        memory * sums.reward + (of_group * batch.reward[..., None]).sum((0, 1)),
        memory * sums.decisions + of_group.sum((0, 1)),
    )
    updated: R = eqx.tree_at(lambda s: (s.reward, s.decisions), sums, after)
    return updated


def constrained(batch: Transitions, constrain: Constrain) -> Transitions:
    """The batch, with what the constraint is about in place of the reward."""
    if constrain == "reward":
        return batch
    return dataclasses.replace(batch, reward=batch.accepted.astype(batch.reward.dtype))


def group_rewards(batch: Transitions, num_groups: int) -> Float[Array, "*B G"]:
    """One reward stream per group; together they are the reward."""
    return jax.nn.one_hot(batch.group, num_groups) * batch.reward[..., None]


@dataclasses.dataclass(frozen=True)
class GroupStreams(Method[R, tuple[()]]):
    """Base of methods with a reward stream and a value head for every group."""

    num_groups: int

    def num_streams(self, env: Env) -> int:
        return env.num_groups

    def streams(self, state: R, batch: Transitions) -> Float[Array, "*B K"]:
        return group_rewards(batch, self.num_groups)


@dataclasses.dataclass(frozen=True)
class GroupWeights(GroupStreams[GroupReturns]):
    """Base of methods that weight the groups by their returns: A = sum over g of w_g A_g, with mean weight 1.

    It is computed as A_r + sum over g of (w_g - 1) A_g. Equal weights then give exactly the advantage of the solver's
    reward, which a goal may have corrected.
    """

    memory: float  # decay per batch of the sums that J is computed from

    def weights(self, returns: Float[Array, "G"]) -> Float[Array, "G"]:
        """The weight of every group, from all returns J; the mean is 1."""
        raise NotImplementedError

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> GroupReturns:
        return GroupReturns(jnp.zeros(self.num_groups), jnp.zeros(self.num_groups))

    def learn(
        self, key: Key[Array, ""], state: GroupReturns, batch: Transitions
    ) -> tuple[GroupReturns, tuple[()]]:
        return add_batch(state, batch, self.memory), ()

    def advantage(
        self, state: GroupReturns, advantages: Float[Array, "B 1+K"], extras: tuple[()]
    ) -> Float[Array, "B"]:
        return standardise(advantages[:, 0] + advantages[:, 1:] @ (self.weights(state.returns) - 1.0))

    def describe(self, state: GroupReturns) -> dict[str, Array]:
        return {"group_weights": self.weights(state.returns), "group_rewards": state.returns}
