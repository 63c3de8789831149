"""Max-min PPO: PPO that weights decisions on each group by how little the group returns.

Every group has its own reward stream (the reward of decisions on its people) and value head. With G groups,
    A = sum over g of w_g A_g,    w_g = G exp(-eta J_g) / sum over h of exp(-eta J_h).
J_g is the reward per decision on group g, averaged over recent batches. With eta = 0 all weights are 1, which is PPO;
with a large eta only the group with the lowest return counts (maximise the minimum).
"""

from __future__ import annotations

import dataclasses

import jax
from jaxtyping import Array, Float

from bisimulator.core import Env
from bisimulator.errors import check_options, check_real
from bisimulator.methods._group_returns import GroupWeights
from bisimulator.methods.hooks import LearnedMethod


@dataclasses.dataclass(frozen=True)
class Config:
    """Hyperparameters; benchmarks/tuning.csv has all that were tried."""

    eta: float = 10.0  # how strongly groups with a lower return count more; 0: all the same
    memory: float = 0.9  # decay per batch of the sums that J is computed from

    def __post_init__(self) -> None:
        check_options(self)
        check_real("memory", self.memory, min=0, max=1)


@dataclasses.dataclass(frozen=True)
class MaxMin(GroupWeights):
    """The hooks of max-min PPO."""

    eta: float

    def weights(self, returns: Float[Array, "G"]) -> Float[Array, "G"]:
        return self.num_groups * jax.nn.softmax(-self.eta * returns)


def build(config: Config, env: Env) -> MaxMin:
    return MaxMin(env.num_groups, config.memory, config.eta)


MAX_MIN_PPO = LearnedMethod(
    summary="PPO that weights decisions on each group by how little the group returns",
    published="",
    solver="ppo",
    config=Config(),
    build=build,
)
