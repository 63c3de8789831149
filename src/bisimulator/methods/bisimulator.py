"""The Bisimulator (algorithm 1): a reward correction and observation dynamics that make groups bisimilar.

Before each update of the solver, M gradient steps improve the reward correction (lines 4 to 7 of the algorithm). A few
times in the training, N candidates of a (1+1) evolution strategy improve the observation dynamics omega, each evaluated
on a simulated episode under the current policy (lines 8 to 13). The solver itself is unmodified.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from bisimulator.bisim.dynamics import DynamicsModel, fit, j_dyn, make_dynamics
from bisimulator.bisim.one_plus_one import one_plus_one
from bisimulator.bisim.reward import Gauge, corrected_reward, gauge_offset, j_rew, mean_square_correction
from bisimulator.core import Act, Env, GroupDecisions, Params, Scenario, SingleDecisions, set_omega
from bisimulator.errors import check_int, check_options, check_real
from bisimulator.methods.hooks import LearnedMethod, Method, Transitions
from bisimulator.policies.networks import MLP, make_mlp
from bisimulator.simulation import plan, play


@dataclasses.dataclass(frozen=True)
class Config:
    """Hyperparameters. M, N and alpha are those of the paper's table "Hyperparameters for Bisimulator"."""

    alpha: float = 5.0  # weight of the reward correction (in the paper 5 with PPO, 1.5 with DQN)
    reward_steps: int = 1  # M, gradient steps on the reward correction per update
    dynamics_steps: int = 300  # N, candidates for omega per search; 0 learns only the reward correction
    dynamics_at: tuple[float, ...] = (0.25, 0.5, 0.75)  # when to search for omega: fractions of the training
    quantiles: int = 4  # number of quantiles in which groups are compared
    same_action: bool = True  # compare only decisions with the same action; False is the paper's literal form
    gauge: Gauge = "raising"  # how the offset between actions is fixed (docs/methods/bisimulator.md)
    kappa: float = 0.1  # with gauge "kappa": the offset in favour of accepting
    floor: float = 0.1  # with gauge "one-sided": the minimum offset in favour of accepting
    penalty: float = 0.3  # weight of the mean square correction in the loss; 0 is the paper's form
    learning_rate: float = 1e-3  # of Adam on the reward correction
    hidden: tuple[int, ...] = (256,)  # hidden layers of the reward correction
    gamma: float = 0.99  # discount in J_dyn
    omega_bounds: tuple[float, float] | None = None  # bounds of omega; None: those of the scenario
    only_raise: bool = False  # do not change the omega of the first group, the one with the highest scores
    psi_hidden: tuple[int, ...] = (64,)  # hidden layers of the dynamics model
    psi_learning_rate: float = 1e-3  # of Adam on the dynamics model
    psi_first_steps: int = 300  # gradient steps on the dynamics model before the first candidate
    psi_steps: int = 10  # gradient steps on the dynamics model per candidate
    psi_minibatch: int = 256  # transitions per gradient step on the dynamics model
    compared: int = 2500  # decisions per episode from which J_dyn is estimated
    straight_through: bool = False  # round predicted means of discrete features, straight-through gradient

    def __post_init__(self) -> None:
        check_options(self, signed=("kappa",))
        counts = ("reward_steps", "quantiles", "psi_first_steps", "psi_steps", "psi_minibatch", "compared")
        for name in counts:
            check_int(name, getattr(self, name), min=1)
        check_real("gamma", self.gamma, min=0, max=1)
        for fraction in self.dynamics_at:
            check_real("dynamics_at", fraction, min=0, max=1)
        for width in self.hidden:
            check_int("hidden", width, min=1)
        for width in self.psi_hidden:
            check_int("psi_hidden", width, min=1)
        if self.omega_bounds is not None and sorted(self.omega_bounds)[:2] != list(self.omega_bounds):
            raise ValueError(
                f"omega_bounds must be a low and a high one, got {self.omega_bounds}; pass (0, 2)"
            )

    def for_goal(self) -> Config:
        """The same with a goal, which decides how much is accepted: the correction adds nothing to that."""
        return dataclasses.replace(self, gauge="centred")


class State(eqx.Module):
    """The learned networks with the states of their optimizers, omega, and the last losses."""

    phi: MLP  # reward correction
    adam: optax.OptState
    offset: Float[Array, "A"]  # fixes the gauge of phi
    omega: Float[Array, "G K"]
    psi: MLP  # dynamics model
    psi_adam: optax.OptState
    j_rew: Float[Array, ""]
    j_dyn: Float[Array, ""]
    params: Params | None = None  # by which steps about all groups fall apart


_Correction: TypeAlias = tuple[MLP, optax.OptState]  # phi, and the state of its optimizer


@dataclasses.dataclass(frozen=True)
class Bisimulator(Method[State, tuple[()]]):
    """The hooks of the Bisimulator."""

    config: Config
    num_groups: int
    num_scores: int
    omega_bounds: tuple[float, float]
    group_decisions: GroupDecisions | None = None  # None: every step is a decision on one applicant

    def init(self, key: Key[Array, ""], env: Env, num_envs: int) -> State:
        c, split = self.config, self.group_decisions
        size = env.observation_size if split is None else split.observation_size(env.params)
        actions = env.num_actions if split is None else split.num_actions(env.params)
        k_phi, k_psi = jax.random.split(key)
        # the correction is small at the start, so the solver begins with almost the original reward
        phi = make_mlp(k_phi, size, c.hidden, actions, 0.01, groups=self.num_groups)
        psi = make_dynamics(k_psi, size, actions, c.psi_hidden, groups=self.num_groups)
        return State(
            phi=phi,
            adam=optax.adam(c.learning_rate).init(phi),
            offset=jnp.zeros(actions),
            omega=jnp.asarray(env.params.omega),
            psi=psi,
            psi_adam=optax.adam(c.psi_learning_rate).init(psi),
            j_rew=jnp.float32(0),
            j_dyn=jnp.float32(0),
            params=None if split is None else env.params,
        )

    def learn(self, key: Key[Array, ""], state: State, batch: Transitions) -> tuple[State, tuple[()]]:
        """Take M gradient steps on J_rew, as small a correction as possible, then fix the gauge."""
        c = self.config
        single = self._single(state, batch)
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[single.reward.ndim :]), single)
        optimizer = optax.adam(c.learning_rate)

        def objective(phi: MLP, key: Key[Array, ""]) -> tuple[Array, Array]:
            loss = j_rew(
                phi,
                key,
                flat.obs,
                flat.action,
                flat.reward,
                flat.group,
                alpha=c.alpha,
                num_groups=self.num_groups,
                quantiles=c.quantiles,
                same_action=c.same_action,
            )
            if not c.penalty:
                return loss, loss
            return loss + c.penalty * mean_square_correction(phi, flat.obs, c.alpha), loss

        def improve(correction: _Correction, key: Key[Array, ""]) -> tuple[_Correction, Array]:
            phi, adam = correction
            (_, loss), gradient = jax.value_and_grad(objective, has_aux=True)(phi, key)
            change, adam = optimizer.update(gradient, adam)
            return (optax.apply_updates(phi, change), adam), loss

        keys = jax.random.split(key, c.reward_steps)
        (phi, adam), losses = jax.lax.scan(improve, (state.phi, state.adam), keys)
        offset = gauge_offset(
            phi, flat.obs, flat.group, gauge=c.gauge, kappa=c.kappa, floor=c.floor, num_groups=self.num_groups
        )
        changed = (phi, adam, offset, losses[-1])
        return eqx.tree_at(lambda s: (s.phi, s.adam, s.offset, s.j_rew), state, changed), ()

    def reward(self, state: State, batch: Transitions, extras: tuple[()]) -> Float[Array, "*B"]:
        single = self._single(state, batch)
        corrected = corrected_reward(
            state.phi, state.offset, single.obs, single.action, single.reward, self.config.alpha
        )
        return corrected if self.group_decisions is None else corrected.mean(-1)

    def _single(self, state: State, batch: Transitions) -> SingleDecisions:
        """The decisions of a batch, each on one group.

        A step that falls apart into K decisions is their mean: each has K times its share of the reward, so that a
        correction weighs the same however many there are.
        """
        if self.group_decisions is None:
            return SingleDecisions(batch.obs, batch.action, batch.reward, batch.group)
        assert batch.tallies is not None
        assert state.params is not None
        single = self.group_decisions.split(
            batch.obs, batch.action, batch.next_obs, batch.tallies, state.params
        )
        return dataclasses.replace(single, reward=single.reward * single.reward.shape[-1])

    def observe_params(self, state: State, params: Params) -> Params:
        return set_omega(params, state.omega) if self.config.dynamics_steps else params

    def adapt_at(self, updates: int) -> tuple[int, ...]:
        if not self.config.dynamics_steps:
            return ()
        return tuple(sorted({int(fraction * updates) for fraction in self.config.dynamics_at}))

    def adapt(
        self, key: Key[Array, ""], state: State, act: Act, scenario: Scenario, params: Params, horizon: int
    ) -> State:
        """Try N candidates for omega, each evaluated by J_dyn on its own episode with common random numbers."""
        c = self.config
        k_search, k_episode, k_fit, k_match = jax.random.split(key, 4)
        grid = self._grid(params) if c.straight_through else 0.0
        planned = plan(scenario, k_episode, params, horizon)
        stride = max(1, horizon // c.compared)  # the compared decisions are spread evenly over the episode

        def loss(
            omega: Float[Array, "G K"], model: DynamicsModel, steps: int = c.psi_steps
        ) -> tuple[Float[Array, ""], DynamicsModel]:
            decisions, _ = play(scenario, planned, act, set_omega(params, omega), horizon)
            model = fit(
                *model,
                k_fit,
                decisions.obs,
                decisions.action,
                decisions.next_self_obs,
                steps=steps,
                minibatch=c.psi_minibatch,
                learning_rate=c.psi_learning_rate,
                grid=grid,
                valid=decisions.valid,
            )
            value = j_dyn(
                model[0],
                k_match,
                decisions.obs[::stride],
                decisions.action[::stride],
                decisions.group[::stride],
                gamma=c.gamma,
                num_groups=self.num_groups,
                quantiles=c.quantiles,
                valid=decisions.valid[::stride],
            )
            return value, model

        _, model = loss(state.omega, (state.psi, state.psi_adam), c.psi_first_steps)
        lower, upper = self._bounds(params)
        best = one_plus_one(
            k_search, loss, state.omega, model, iterations=c.dynamics_steps, lower=lower, upper=upper
        )
        changed = (best.x, *best.aux, best.loss)
        adapted: State = eqx.tree_at(lambda s: (s.omega, s.psi, s.psi_adam, s.j_dyn), state, changed)
        return adapted

    def describe(self, state: State) -> dict[str, Array]:
        return {"omega": state.omega, "offset": state.offset, "j_rew": state.j_rew, "j_dyn": state.j_dyn}

    def _bounds(self, params: Params) -> tuple[Float[Array, "G K"], Float[Array, "G K"]]:
        low, high = self.config.omega_bounds or self.omega_bounds
        lower, upper = jnp.full_like(params.omega, low), jnp.full_like(params.omega, high)
        if self.config.only_raise:  # bounds of width 0 fix the omega of the advantaged group
            lower, upper = lower.at[0].set(params.omega[0]), upper.at[0].set(params.omega[0])
        return lower, upper

    def _grid(self, params: Params) -> Float[Array, "D"]:
        """Observed scores are multiples of one score point; the other features are not rounded."""
        return jnp.zeros(params.observation_size).at[0].set(1 / max(self.num_scores - 1, 1))


def build(config: Config, env: Env) -> Bisimulator:
    if not env.scenario.omega_names:  # nothing to adjust: the reward correction alone
        config = dataclasses.replace(config, dynamics_steps=0)
    split = env.scenario.group_decisions
    return Bisimulator(config, env.num_groups, env.params.num_scores, env.omega_bounds, split)


PPO_BISIMULATOR = LearnedMethod(
    summary="PPO with a learned reward correction and learned observation dynamics",
    published="PPO + Bisimulator",
    solver="ppo",
    config=Config(),
    for_goal=Config.for_goal,
    view="life",
    build=build,
    applies=lambda scenario: scenario.applicants or scenario.group_decisions is not None,
)
PPO_BISIMULATOR_REWARD = dataclasses.replace(
    PPO_BISIMULATOR,
    summary="PPO with a learned reward correction",
    published="PPO + Bisimulator (Reward only)",
    config=Config(dynamics_steps=0),
)
DQN_BISIMULATOR = dataclasses.replace(
    PPO_BISIMULATOR,
    summary="DQN with a learned reward correction and learned observation dynamics",
    published="DQN + Bisimulator",
    solver="dqn",
    config=Config(alpha=1.5, floor=0.3, penalty=0.0),
    applies=lambda scenario: scenario.applicants,  # a replay buffer does not have what every group got
)
DQN_BISIMULATOR_REWARD = dataclasses.replace(
    DQN_BISIMULATOR,
    summary="DQN with a learned reward correction",
    published="DQN + Bisimulator (Reward only)",
    config=Config(alpha=1.5, floor=0.3, penalty=0.0, dynamics_steps=0),
)
