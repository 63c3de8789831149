"""ELBERT-PO (Xu et al. 2024): PPO whose advantage reduces the long-term difference of benefit rates between groups.

The streams are B_g, the demand (the applicant is qualified and of group g), and U_g, the benefit (and is accepted);
where a decision is about all groups at once, what each group needed and received. Each has a value head. With
z_g = U_g / B_g over an episode and bias = max z - min z (for more than two groups its smooth form LSE(beta z) / beta +
LSE(-beta z) / beta),
    A = A_r - a sum_g 2 bias (d bias / d z_g) (A_Ug / B_g - U_g / B_g^2 A_Bg).
Every advantage is standardised in the minibatch; their sum is not standardised again.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bisimulator.core import Env
from bisimulator.errors import check_options, check_real
from bisimulator.methods.hooks import LearnedMethod, Method, Transitions, standardise

# B_g is scaled to an episode of the authors' lending, with this many decisions on two groups, so that a weight has the
# same effect in every scenario. With each scenario's own B_g it would be ten times as strong in college. Of decisions
# about all groups, it is B_g in an episode, as the authors have it.
_DECISIONS = 10_000


@dataclasses.dataclass(frozen=True)
class Config:
    """Hyperparameters, with the authors' values for lending; benchmarks/tuning.csv has all that were tried."""

    a: float = 200_000.0  # weight of the squared bias
    beta: float = 20.0  # sharpness of the smooth maximum and minimum, for more than two groups
    memory: float = 0.0  # decay per batch of the sums behind benefit rates; 0: this batch only

    def __post_init__(self) -> None:
        check_options(self)
        check_real("beta", self.beta, min=1e-6)
        check_real("memory", self.memory, min=0, max=1)


class State(eqx.Module):
    """Decayed sums over batches."""

    demand: Float[Array, "G"]  # B
    benefit: Float[Array, "G"]  # U
    decisions: Float[Array, ""]

    @property
    def rates(self) -> Float[Array, "G"]:
        """The benefit rates z."""
        return self.benefit / jnp.maximum(self.demand, 1e-6)


@dataclasses.dataclass(frozen=True)
class Elbert(Method[State, tuple[()]]):
    """The hooks of ELBERT-PO."""

    config: Config
    num_groups: int
    steps: int = 0  # of an episode whose decisions are about all groups; 0 if they are on applicants

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> State:
        return State(jnp.zeros(self.num_groups), jnp.zeros(self.num_groups), jnp.float32(0))

    def learn(self, key: Key[Array, ""], state: State, batch: Transitions) -> tuple[State, tuple[()]]:
        memory, streams = self.config.memory, self.streams(state, batch).sum((0, 1))
        demand, benefit = streams[: self.num_groups], streams[self.num_groups :]
        return State(
            demand=memory * state.demand + demand,
            benefit=memory * state.benefit + benefit,
            decisions=memory * state.decisions + batch.reward.size,
        ), ()

    def num_streams(self, env: Env) -> int:
        return 2 * env.num_groups

    def streams(self, state: State, batch: Transitions) -> Float[Array, "*B K"]:
        supply, demand = batch.supply_and_demand(self.num_groups)
        return jnp.concatenate([demand, supply], -1)

    def advantage(
        self, state: State, advantages: Float[Array, "B 1+K"], extras: tuple[()]
    ) -> Float[Array, "B"]:
        each = jax.vmap(standardise, in_axes=1, out_axes=1)(advantages)
        demand, benefit = each[:, 1 : 1 + self.num_groups], each[:, 1 + self.num_groups :]
        known = state.demand > 0
        rates = jnp.where(known, state.rates, state.rates.mean(where=known))
        slope = jax.grad(lambda z: self._bias(z) ** 2)(rates)
        per_decision = jnp.maximum(state.demand, 1.0) / state.decisions
        total = per_decision * self.steps if self.steps else per_decision * _DECISIONS * self.num_groups / 2
        change = (benefit - rates[None] * demand) / total[None]
        return each[:, 0] - self.config.a * change @ jnp.where(known, slope, 0.0)

    def describe(self, state: State) -> dict[str, Array]:
        return {"benefit_rates": state.rates}

    def _bias(self, rates: Float[Array, "G"]) -> Float[Array, ""]:
        if self.num_groups <= 2:
            return rates.max() - rates.min()
        beta = self.config.beta
        return (jax.nn.logsumexp(beta * rates) + jax.nn.logsumexp(-beta * rates)) / beta


def build(config: Config, env: Env) -> Elbert:
    return Elbert(config, env.num_groups, 0 if env.scenario.applicants else env.horizon)


ELBERT = LearnedMethod(
    summary="PPO whose advantage reduces the long-term difference of benefit rates between groups",
    published="ELBERT-PO",
    solver="ppo",
    config=Config(),
    in_scenario={  # the authors' values, which they have for the harder ones
        "attention": Config(a=20_000.0),
        "attention-harder": Config(a=20_000.0),
        "infectious": Config(a=50.0),
        "infectious-harder": Config(a=50.0),
    },
    build=build,
    applies=lambda scenario: True,
)
