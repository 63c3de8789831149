"""R-PPO: PPO whose reward is lowered by the recall gap of the running episode (Yu et al. 2022's first baseline).

r' = r - zeta * gap where gap >= omega, with gap the largest difference of recalls since the episode began.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bisimulator.core import Env
from bisimulator.errors import check_real
from bisimulator.methods._running_recall import Counts, running_gaps
from bisimulator.methods.hooks import LearnedMethod, Method, Transitions


@dataclasses.dataclass(frozen=True)
class Config:
    zeta: float = 2.0  # weight of the penalty; the authors' value, kept: not in the paper's tables
    omega: float = 0.005  # gaps below this are not punished; the authors' value, kept

    def __post_init__(self) -> None:
        check_real("zeta", self.zeta, min=0)
        check_real("omega", self.omega, min=0, max=1)


@dataclasses.dataclass(frozen=True)
class RewardPenalty(Method):
    config: Config
    num_groups: int

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> Counts:
        return jnp.zeros((num_envs, self.num_groups, 2))

    def learn(self, key: Key[Array, ""], state: Counts, batch: Transitions) -> tuple[Counts, Any]:
        counts, _, gap = running_gaps(state, batch)
        return counts, gap

    def reward(self, state: Counts, batch: Transitions, extras: Any) -> Float[Array, "*B"]:
        punished = jnp.where(extras >= self.config.omega, extras, 0.0)
        return batch.reward - self.config.zeta * punished


def build(config: Config, env: Env) -> RewardPenalty:
    return RewardPenalty(config, env.num_groups)


R_PPO = LearnedMethod(
    summary="PPO whose reward is lowered by the recall gap of the running episode",
    published="",
    solver="ppo",
    config=Config(),
    build=build,
)
