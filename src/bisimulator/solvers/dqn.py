"""Deep Q-learning with a replay buffer and a target network; all seeds advance together.

One update is: roll out epsilon-greedily, store, let the method learn from a batch of the buffer, then a number of
gradient steps on batches whose reward the method shapes with what it has learned by now.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key, PyTree

from bisimulator.core import Act, Env, Params, Scenario
from bisimulator.errors import check_int, check_real
from bisimulator.methods.hooks import HOOKS, Hook, Method, Transitions
from bisimulator.policies import MLP, make_mlp
from bisimulator.solvers.replay import Replay, empty_replay
from bisimulator.solvers.rollout import EnvBatch, batch_logs, observed_params, rollout, seed_by_seed, start
from bisimulator.solvers.solver import BatchAct, check_solver_config


@dataclasses.dataclass(frozen=True)
class DQNConfig:
    """The paper's hyperparameters (its table "Hyperparameters for DQN"); the rest as CleanRL or chosen here."""

    num_envs: int = 8  # envs of the environment per seed
    rollout: int = 8  # steps of each environment per update
    minibatch: int = 512  # transitions per gradient step (the paper's batch size)
    epochs: int = 4  # gradient steps per update
    learning_rate: float = 5e-5  # annealed linearly to 0
    gamma: float = 0.99  # discount factor
    target_every: int = 10  # updates between two copies into the target network
    capacity: int = 10_000  # transitions in the replay buffer
    epsilon_start: float = 1.0  # exploration at the start
    epsilon_end: float = 0.05  # exploration at the end
    epsilon_fraction: float = 0.5  # share of the training over which exploration falls
    hidden: tuple[int, ...] = (256,)  # hidden layers of the Q-network
    anneal: bool = True  # anneal the learning rate
    input_scale: float = 20.0  # observations in 0..1 are multiplied by this before the networks

    def __post_init__(self) -> None:
        check_solver_config(self)
        check_int("target_every", self.target_every, min=1)
        check_int("capacity", self.capacity, min=self.batch)
        for name in ("epsilon_start", "epsilon_end"):
            check_real(name, getattr(self, name), min=0, max=1)
        check_real("epsilon_fraction", self.epsilon_fraction, min=1e-9, max=1)

    @property
    def batch(self) -> int:
        """Environment steps per update."""
        return self.num_envs * self.rollout


class Theta(eqx.Module):
    q: MLP
    target: MLP


class Training(eqx.Module):
    """Everything that changes during training; every leaf but `envs.t` and `update` has a leading seed axis."""

    key: Key[Array, "S"]
    theta: Theta
    opt_state: optax.OptState
    method: PyTree
    replay: Replay
    envs: EnvBatch
    update: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class DQN:
    """The solver: `init` and `update` are pure; the trainer compiles and loops them."""

    config: DQNConfig
    method: Method
    updates: int  # of the whole training, for annealing
    hooks: ClassVar[frozenset[Hook]] = HOOKS - {"num_streams", "streams", "advantage"}

    def optimizer(self) -> optax.GradientTransformation:
        c = self.config
        steps = self.updates * c.epochs
        return optax.adam(optax.linear_schedule(c.learning_rate, 0.0, steps) if c.anneal else c.learning_rate)

    def init(self, keys: Key[Array, "S"], env: Env) -> Training:
        c, size = self.config, env.observation_size
        replay = empty_replay(_one_transition(env), c.capacity)

        def one(key: Key[Array, ""]) -> tuple[Key[Array, ""], Theta, optax.OptState, PyTree, Key[Array, ""]]:
            k_run, k_q, k_method, k_envs = jax.random.split(key, 4)
            # without `groups`: with codes instead of weights Q-learning does not tell a hundred groups apart
            q = make_mlp(k_q, size, c.hidden, env.num_actions, 1.0, c.input_scale)
            opt_state = self.optimizer().init(q)
            return k_run, Theta(q, q), opt_state, self.method.init(k_method, env, c.num_envs), k_envs

        k_run, theta, opt_state, method, k_envs = seed_by_seed(one, keys)
        params = observed_params(self.method, method, env.params, keys.shape[0])
        envs = start(env.scenario, k_envs, params, c.num_envs)
        rings = jax.tree.map(lambda x: jnp.broadcast_to(x, (keys.shape[0], *x.shape)), replay)
        return Training(k_run, theta, opt_state, method, rings, envs, jnp.int32(0))

    def epsilon(self, update: Int[Array, ""]) -> Float[Array, ""]:
        c = self.config
        done = update / (c.epsilon_fraction * self.updates)
        return jnp.maximum(c.epsilon_start + (c.epsilon_end - c.epsilon_start) * done, c.epsilon_end)

    def act(self, epsilon: Float[Array, ""]) -> BatchAct:
        """Epsilon-greedy actions of every seed's policy."""

        def explore_all(theta: Theta, keys: Key[Array, "S"], obs: Float[Array, "S E D"]) -> Int[Array, "S E"]:
            return jax.vmap(explore, in_axes=(0, 0, 0, None))(theta.q, keys, obs, epsilon)

        return explore_all

    def policy(self, theta: Theta) -> MLP:
        """The network of one seed that decides: its largest output is the greedy action."""
        return theta.q

    def behave(self, theta: Theta) -> Act:
        """How one seed's policy acts but for exploration: greedily."""
        return lambda key, obs: theta.q(obs).argmax(-1)

    def update(
        self, training: Training, scenario: Scenario, params: Params
    ) -> tuple[Training, dict[str, Array]]:
        c = self.config
        keys = jax.vmap(lambda k: jax.random.split(jax.random.fold_in(k, training.update), 3))(training.key)
        num_groups = params.num_groups
        params = observed_params(self.method, training.method, params, keys.shape[0])
        epsilon = self.epsilon(training.update)
        act = self.act(epsilon)
        envs, batch = rollout(scenario, training.envs, act, training.theta, keys[:, 0], params, c.rollout)
        theta, opt_state, method, replay, diagnostics = jax.vmap(self._improve)(
            keys[:, 1],
            keys[:, 2],
            training.theta,
            training.opt_state,
            training.method,
            training.replay,
            batch,
        )
        sync = (training.update + 1) % c.target_every == 0
        target = jax.tree.map(lambda new, old: jnp.where(sync, new, old), theta.q, theta.target)
        theta = Theta(theta.q, target)
        diagnostics["epsilon"] = jnp.broadcast_to(epsilon, keys.shape[:1])
        logs = batch_logs(batch, diagnostics, num_groups)
        return Training(training.key, theta, opt_state, method, replay, envs, training.update + 1), logs

    def _improve(
        self,
        k_method: Key[Array, ""],
        k_batches: Key[Array, ""],
        theta: Theta,
        opt_state: optax.OptState,
        method: PyTree,
        replay: Replay,
        batch: Transitions,
    ) -> tuple[Theta, optax.OptState, PyTree, Replay, dict[str, Array]]:
        """One seed's update from its fresh transitions (T, E)."""
        c, optimizer = self.config, self.optimizer()
        method = self.method.measure(method, batch)
        replay = replay.push(jax.tree.map(lambda x: x.reshape(c.batch, *x.shape[2:]), batch))
        k_learn, k_sample = jax.random.split(k_method)
        seen = replay.sample(k_sample, c.minibatch)
        method, _ = self.method.learn(k_learn, method, jax.tree.map(lambda x: x[:, None], seen))

        def improve(
            carry: tuple[MLP, optax.OptState], key: Key[Array, ""]
        ) -> tuple[tuple[MLP, optax.OptState], dict[str, Array]]:
            q, opt_state = carry
            minibatch = replay.sample(key, c.minibatch)
            (_, logs), gradient = jax.value_and_grad(self._loss, has_aux=True)(
                q, theta.target, method, minibatch
            )
            change, opt_state = optimizer.update(gradient, opt_state, q)
            return (optax.apply_updates(q, change), opt_state), logs

        keys = jax.random.split(k_batches, c.epochs)
        (q, opt_state), logs = jax.lax.scan(improve, (theta.q, opt_state), keys)
        diagnostics = {name: values.mean() for name, values in logs.items()}
        return Theta(q, theta.target), opt_state, method, replay, diagnostics

    def _loss(
        self, q: MLP, target: MLP, method: PyTree, batch: Transitions
    ) -> tuple[Float[Array, ""], dict[str, Array]]:
        """The mean squared TD error, and what CleanRL logs of it."""
        reward = self.method.reward(method, batch, ())
        best_next = target(batch.next_obs).max(-1)
        goal = reward + self.config.gamma * best_next * (1 - batch.terminated)
        value = jnp.take_along_axis(q(batch.obs), batch.action[:, None], 1)[:, 0]
        td_error = jax.lax.stop_gradient(goal) - value
        loss = (td_error**2).mean()
        return loss, {"loss": loss, "td_error": jnp.abs(td_error).mean(), "q_value": value.mean()}


def explore(
    q: MLP, key: Key[Array, ""], obs: Float[Array, "E D"], epsilon: Float[Array, ""]
) -> Int[Array, "E"]:
    """The best action, or with probability epsilon any action."""
    values = q(obs)
    k_whether, k_which = jax.random.split(key)
    anything = jax.random.randint(k_which, values.shape[:-1], 0, values.shape[-1])
    whether = jax.random.uniform(k_whether, values.shape[:-1]) < epsilon
    return jnp.where(whether, anything, values.argmax(-1))


def _one_transition(env: Env) -> Transitions:
    """A transition of the environment's shapes, for the buffer."""
    obs, number = jnp.zeros((1, env.observation_size)), jnp.zeros(1)
    flag, whole = jnp.zeros(1, bool), jnp.zeros(1, jnp.int32)
    return Transitions(obs, whole, flag, number, obs, flag, flag, whole, flag, obs)
