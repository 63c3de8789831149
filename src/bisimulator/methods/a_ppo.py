"""A-PPO (Yu et al. 2022): PPO whose advantage is regularised by the recall gap of the current episode.

With gap_t the gap after decision t and d_t = gap_t - gap_(t-1), of recalls or, where a decision is about all groups at
once, of benefit rates:
    value threshold    VT_t  = min(0, omega - gap_t)
    decrease in value  DIV_t = min(0, -d_t) if gap_t > omega, otherwise 0
    A'_t = A_t + beta_vt VT_t + beta_div DIV_t, where each term is scaled to [0, 1] in the minibatch and the sum is
    standardised.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bisimulator.core import Env
from bisimulator.errors import check_options, check_real
from bisimulator.methods._running_gaps import Counts, running_gaps
from bisimulator.methods.hooks import LearnedMethod, Method, Transitions, standardise

Gaps: TypeAlias = tuple[Float[Array, "*B"], Float[Array, "*B"]]  # before and after each decision


@dataclasses.dataclass(frozen=True)
class Config:
    """Hyperparameters. The authors' values are 0.25, 0.25 and 0.005; benchmarks/tuning.csv has all that were tried."""

    beta_vt: float = 0.25  # weight of the size of the gap
    beta_div: float = 0.25  # weight of the growth of the gap
    omega: float = 0.005  # gaps below this are ignored

    def __post_init__(self) -> None:
        check_options(self)
        check_real("omega", self.omega, min=0, max=1)


@dataclasses.dataclass(frozen=True)
class AdvantageRegularised(Method[Counts, Gaps]):
    """The hooks of A-PPO."""

    config: Config
    num_groups: int

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> Counts:
        return jnp.zeros((num_envs, self.num_groups, 2))

    def learn(self, key: Key[Array, ""], state: Counts, batch: Transitions) -> tuple[Counts, Gaps]:
        counts, before, after = running_gaps(state, batch)
        return counts, (before, after)

    def advantage(self, state: Counts, advantages: Float[Array, "B 1+K"], extras: Gaps) -> Float[Array, "B"]:
        before, after = extras
        c = self.config
        vt = jnp.minimum(0.0, c.omega - after)
        div = jnp.where(after > c.omega, jnp.minimum(0.0, before - after), 0.0)
        terms = unit_scale(advantages[:, 0]) + c.beta_vt * unit_scale(vt) + c.beta_div * unit_scale(div)
        return standardise(terms)


def unit_scale(x: Float[Array, "B"]) -> Float[Array, "B"]:
    """Scale to [0, 1]; a constant becomes 0."""
    return (x - x.min()) / jnp.maximum(x.max() - x.min(), 1e-8)


def build(config: Config, env: Env) -> AdvantageRegularised:
    return AdvantageRegularised(config, env.num_groups)


A_PPO = LearnedMethod(
    summary="PPO whose advantage is regularised by the recall gap of the current episode",
    published="A-PPO",
    solver="ppo",
    config=Config(),
    in_scenario={  # the authors' values
        **dict.fromkeys(("attention", "attention-harder"), Config(beta_vt=0.15, beta_div=0.15, omega=0.05)),
        **dict.fromkeys(("infectious", "infectious-harder"), Config(beta_vt=0.1, beta_div=0.1, omega=0.05)),
    },
    build=build,
    applies=lambda scenario: True,
)
