"""GGF-PPO (Siddique et al. 2020): PPO that maximises the generalised Gini welfare of the groups' returns.

Every group has its own reward stream (the reward of decisions on its people) and value head. With the groups sorted
from the lowest to the highest return J_(1) <= ... <= J_(G) and weights w_1 >= ... >= w_G, the welfare is
    GGF(J) = sum over k of w_k J_(k),    so    A = sum over k of w_k A_(k),    w_k proportional to ratio^(1 - k).
J_g is the reward per decision on group g, averaged over recent batches; the mean of the weights is 1.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bisimulator.core import Env
from bisimulator.errors import check_options, check_real
from bisimulator.methods._group_returns import GroupWeights
from bisimulator.methods.hooks import LearnedMethod


@dataclasses.dataclass(frozen=True)
class Config:
    """Hyperparameters; benchmarks/tuning.csv has all that were tried."""

    ratio: float = 2.0  # weight of a group divided by the weight of the next better-off one; 1: all the same
    memory: float = 0.9  # decay per batch of the sums that J is computed from

    def __post_init__(self) -> None:
        check_options(self)
        check_real("ratio", self.ratio, min=1)
        check_real("memory", self.memory, min=0, max=1)


@dataclasses.dataclass(frozen=True)
class GiniWelfare(GroupWeights):
    """The hooks of GGF-PPO."""

    ratio: float

    def weights(self, returns: Float[Array, "G"]) -> Float[Array, "G"]:
        rank = returns.argsort().argsort()  # 0 for the group with the lowest return
        return self.num_groups * jax.nn.softmax(-rank * jnp.log(self.ratio))


def build(config: Config, env: Env) -> GiniWelfare:
    return GiniWelfare(env.num_groups, config.memory, config.ratio)


GGF_PPO = LearnedMethod(
    summary="PPO that maximises the generalised Gini welfare of the groups' returns",
    published="",
    solver="ppo",
    config=Config(),
    build=build,
)
