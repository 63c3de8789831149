"""R-PPO: PPO whose reward is reduced by the recall gap of the current episode (the first baseline of Yu et al. 2022).

r' = r - zeta * gap if gap >= omega, where gap is the largest difference of recalls since the episode began; of benefit
rates, where a decision is about all groups at once. With `excess`, r' = r + zeta * min(0, omega - gap).
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bisimulator.core import Env
from bisimulator.errors import check_options, check_real
from bisimulator.methods._running_gaps import Counts, running_gaps
from bisimulator.methods.hooks import LearnedMethod, Method, Transitions


@dataclasses.dataclass(frozen=True)
class Config:
    """Hyperparameters, with the authors' values."""

    zeta: float = 2.0  # weight of the penalty
    omega: float = 0.005  # gaps below this are not penalised
    excess: bool = False  # penalise only what exceeds omega, as the authors do in attention

    def __post_init__(self) -> None:
        check_options(self)
        check_real("omega", self.omega, min=0, max=1)


@dataclasses.dataclass(frozen=True)
class RewardPenalty(Method[Counts, Float[Array, "*B"]]):
    """The hooks of R-PPO; the extras are the gap after each decision."""

    config: Config
    num_groups: int

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> Counts:
        return jnp.zeros((num_envs, self.num_groups, 2))

    def learn(
        self, key: Key[Array, ""], state: Counts, batch: Transitions
    ) -> tuple[Counts, Float[Array, "T E"]]:
        counts, _, gap = running_gaps(state, batch)
        return counts, gap

    def reward(self, state: Counts, batch: Transitions, extras: Float[Array, "*B"]) -> Float[Array, "*B"]:
        c = self.config
        penalty = jnp.where(extras >= c.omega, extras, 0.0)
        if c.excess:
            penalty = jnp.maximum(extras - c.omega, 0.0)
        return batch.reward - c.zeta * penalty


def build(config: Config, env: Env) -> RewardPenalty:
    return RewardPenalty(config, env.num_groups)


R_PPO = LearnedMethod(
    summary="PPO whose reward is reduced by the recall gap of the current episode",
    published="",
    solver="ppo",
    config=Config(),
    in_scenario={  # the authors' values; those of ELBERT-PO in attention-harder
        "attention": Config(zeta=10.0, omega=0.05, excess=True),
        "attention-harder": Config(zeta=20.0, omega=0.05, excess=True),
        "infectious": Config(zeta=0.1, omega=0.05),
        "infectious-harder": Config(zeta=0.1, omega=0.05),
    },
    build=build,
    applies=lambda scenario: True,
)
