"""FOC-PPO (Satija et al. 2023): a first-order constrained update under demographic parity, |J_i - J_j| <= epsilon.

J_g is what group g receives per decision, averaged over recent batches: approvals, as in the authors' lending
environment, or with `constrain` "reward" the reward of the decision maker. Every group has its own stream of it and
value head, and every ordered pair of groups a multiplier,
    nu_ij <- clip(nu_ij + eta (J_i - J_j - epsilon), 0, max_nu),
so that the advantage of the Lagrangian is A = A_r + sum over g of (c_g - 1) A_g, c_g = 1 - sum_j nu_gj + sum_i nu_ig,
with A_r that of the reward. Instead of PPO's clipped objective, the policy is projected on the best one within a trust
region (FOCOPS, Zhang et al. 2020): per decision it maximises
    ratio A / temperature - kl    where kl = ratio log ratio - ratio + 1 <= max_kl, and nothing elsewhere.
The mean of kl over actions of the old policy is KL(new || old), and the same holds for their gradients.
"""

from __future__ import annotations

import dataclasses

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
from bisimulator.methods.hooks import LearnedMethod, Transitions


@dataclasses.dataclass(frozen=True)
class Config:
    """Hyperparameters, with the authors' defaults for all but epsilon and memory."""

    constrain: Constrain = "approvals"  # what groups should receive equally much of: approvals or reward
    epsilon: float = 0.05  # allowed difference per decision
    eta: float = 0.01  # step size of the multipliers
    max_nu: float = 2.0  # upper bound of the multipliers
    temperature: float = 1.5  # weight of the divergence from the old policy, compared with the advantage
    max_kl: float = 0.02  # decisions at which the policy has changed more than this do not count
    memory: float = 0.9  # decay per batch of the sums that J is computed from

    def __post_init__(self) -> None:
        check_options(self)
        check_real("temperature", self.temperature, min=1e-6)
        check_real("memory", self.memory, min=0, max=1)


class State(GroupReturns):
    """What the groups received, and the multipliers."""

    nu: Float[Array, "G G"]  # of J_i - J_j <= epsilon

    @property
    def weights(self) -> Float[Array, "G"]:
        """c_g, the weight of J_g in the Lagrangian; the mean is 1."""
        return 1.0 - self.nu.sum(1) + self.nu.sum(0)


@dataclasses.dataclass(frozen=True)
class FirstOrderConstrained(GroupStreams[State]):
    """The hooks of FOC-PPO."""

    config: Config

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> State:
        zeros = jnp.zeros(self.num_groups)
        return State(zeros, zeros, jnp.zeros((self.num_groups, self.num_groups)))

    def learn(self, key: Key[Array, ""], state: State, batch: Transitions) -> tuple[State, tuple[()]]:
        c = self.config
        after = add_batch(state, constrained(batch, c.constrain), c.memory)
        gap = after.returns[:, None] - after.returns[None]
        nu = jnp.clip(state.nu + c.eta * (gap - c.epsilon), 0.0, c.max_nu)
        return eqx.tree_at(lambda s: s.nu, after, nu), ()

    def streams(self, state: State, batch: Transitions) -> Float[Array, "*B K"]:
        return super().streams(state, constrained(batch, self.config.constrain))

    def advantage(
        self, state: State, advantages: Float[Array, "B 1+K"], extras: tuple[()]
    ) -> Float[Array, "B"]:
        # in units of the reward's advantage, so that the multipliers count as much as they are large
        unit = advantages / (advantages[:, 0].std() + 1e-8)
        total = unit[:, 0] + unit[:, 1:] @ (state.weights - 1.0)
        return total - total.mean()

    def objective(
        self,
        state: State,
        ratio: Float[Array, "B"],
        advantage: Float[Array, "B"],
        clip: float,
    ) -> Float[Array, "B"]:
        kl = ratio * jnp.log(ratio) - ratio + 1.0  # its mean over actions of the old policy is KL(new || old)
        return jnp.where(kl <= self.config.max_kl, ratio * advantage / self.config.temperature - kl, 0.0)

    def describe(self, state: State) -> dict[str, Array]:
        return {"nu": state.nu, "group_weights": state.weights, "group_returns": state.returns}


def build(config: Config, env: Env) -> FirstOrderConstrained:
    return FirstOrderConstrained(env.num_groups, config)


FOC_PPO = LearnedMethod(
    summary="First-order constrained policy optimisation under demographic parity of approvals or returns",
    published="",
    solver="ppo",
    config=Config(),
    view="life",
    build=build,
)
