"""FOC-PPO (Satija et al. 2023): a first-order constrained update under demographic parity, |J_i - J_j| <= epsilon.

Every group has its own reward stream (the reward of decisions on its people) and value head, and every ordered pair of
groups a multiplier,
    nu_ij <- clip(nu_ij + eta (J_i - J_j - epsilon), 0, max_nu),
so that the advantage of the Lagrangian is A = sum over g of c_g A_g, c_g = 1 - sum_j nu_gj + sum_i nu_ig. J_g is the
reward per decision on group g, averaged over recent batches. Instead of PPO's clipped objective, the policy is
projected on the best one within a trust region (FOCOPS, Zhang et al. 2020): per decision it maximises
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
from bisimulator.methods._group_returns import GroupReturns, GroupStreams, add_batch
from bisimulator.methods.hooks import LearnedMethod, Transitions


@dataclasses.dataclass(frozen=True)
class Config:
    """Hyperparameters, with the authors' defaults for all but epsilon and memory."""

    epsilon: float = 0.05  # allowed difference of rewards per decision
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
    """The groups' rewards and the multipliers."""

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
        c, after = self.config, add_batch(state, batch, self.config.memory)
        gap = after.returns[:, None] - after.returns[None]
        nu = jnp.clip(state.nu + c.eta * (gap - c.epsilon), 0.0, c.max_nu)
        return eqx.tree_at(lambda s: s.nu, after, nu), ()

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
        return {"nu": state.nu, "group_weights": state.weights, "group_rewards": state.returns}


def build(config: Config, env: Env) -> FirstOrderConstrained:
    return FirstOrderConstrained(env.num_groups, config)


FOC_PPO = LearnedMethod(
    summary="First-order constrained policy optimisation under demographic parity of the groups' returns",
    published="",
    solver="ppo",
    config=Config(),
    build=build,
)
