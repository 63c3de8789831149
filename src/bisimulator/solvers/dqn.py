"""Deep Q-learning with a replay buffer and a target network; all seeds advance together.

One update is: roll out epsilon-greedily, store, let the method learn from a batch of the buffer, then a number of
gradient steps on batches whose reward the method shapes with what it has learned by now.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, Key, PyTree

from bisimulator.core import ANOTHER_BRANCH, Act, Env, Params, Scenario
from bisimulator.errors import check_int, check_real
from bisimulator.methods.hooks import HOOKS, Hook, Method, Transitions
from bisimulator.policies import MLP, make_mlp
from bisimulator.solvers.replay import Replay, empty_replay
from bisimulator.solvers.rollout import EnvBatch, batch_logs, observed_params, rollout, seed_by_seed, start
from bisimulator.solvers.solver import BatchAct, Bootstrap, check_solver_config, move_average, successors


@dataclasses.dataclass(frozen=True)
class DQNConfig:
    """The paper's hyperparameters (its table "Hyperparameters for DQN"); the rest as CleanRL or chosen here."""

    num_envs: int = 8  # envs of the environment per seed
    rollout: int = 8  # steps of each environment per update
    minibatch: int = 512  # transitions per gradient step (the paper's batch size)
    epochs: int = 4  # gradient steps per update
    learning_rate: float = 5e-5  # annealed linearly to 0
    gamma: float = 0.99  # discount factor
    bootstrap: Bootstrap = "next"  # whose value follows: the next applicant's, or the same person's
    visit_gamma: float = 0.9  # discount from one visit of a person to the next, with bootstrap "same-person"
    target_every: int = 10  # updates between two copies into the target network
    capacity: int = 80_000  # transitions in the replay buffer, rounded up to whole updates
    epsilon_start: float = 1.0  # exploration at the start
    epsilon_end: float = 0.05  # exploration at the end
    epsilon_fraction: float = 0.5  # share of the training over which exploration falls
    hidden: tuple[int, ...] = (256,)  # hidden layers of the Q-network
    anneal: bool = True  # anneal the learning rate
    input_scale: float = 20.0  # observations in 0..1 are multiplied by this before the networks
    average: float = 0.0  # share of the updates so far over which the policy is averaged; 0: the last one
    temperature: float = 0.0  # actions are drawn by softmax(Q / temperature); 0: greedily
    group_blind: bool = False  # Q, and so the policy, does not look at the group

    def __post_init__(self) -> None:
        check_solver_config(self)
        check_int("target_every", self.target_every, min=1)
        check_int("capacity", self.capacity, min=self.batch)
        for name in ("epsilon_start", "epsilon_end"):
            check_real(name, getattr(self, name), min=0, max=1)
        check_real("temperature", self.temperature, min=0)
        check_real("epsilon_fraction", self.epsilon_fraction, min=1e-9, max=1)

    @property
    def batch(self) -> int:
        """Environment steps per update."""
        return self.num_envs * self.rollout

    @property
    def stochastic(self) -> bool:
        """What is learned is a stochastic policy."""
        return self.temperature > 0


class Theta(eqx.Module):
    q: MLP
    target: MLP
    average: MLP | None = None  # of q, if the policy is averaged


class Training(eqx.Module):
    """Everything that changes during training; leaves have a leading seed axis.

    But for counters that all seeds share: `envs.t`, `replay.next`, `replay.size` and `update`.
    """

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
    hooks: ClassVar[frozenset[Hook]] = HOOKS - {"num_streams", "streams", "advantage", "objective"}

    def optimizer(self) -> optax.GradientTransformation:
        c = self.config
        steps = self.updates * c.epochs
        return optax.adam(optax.linear_schedule(c.learning_rate, 0.0, steps) if c.anneal else c.learning_rate)

    def init(self, keys: Key[Array, "S"], env: Env) -> Training:
        c, size = self.config, env.observation_size
        capacity = -(-c.capacity // c.batch) * c.batch
        replay = empty_replay(keys.shape[0], capacity, size, env.group_entries)

        def one(key: Key[Array, ""]) -> tuple[Key[Array, ""], Theta, optax.OptState, PyTree, Key[Array, ""]]:
            k_run, k_q, k_method, k_envs = jax.random.split(key, 4)
            # without `groups`: with codes instead of weights Q-learning does not tell a hundred groups apart
            groups = env.group_entries if c.group_blind else 0
            net = partial(make_mlp, groups=groups, group_blind=c.group_blind)
            q = net(k_q, size, c.hidden, env.num_actions, 1.0, c.input_scale)
            opt_state = self.optimizer().init(ravel_pytree(q)[0])
            theta = Theta(q, q, q if c.average else None)
            return k_run, theta, opt_state, self.method.init(k_method, env, c.num_envs), k_envs

        k_run, theta, opt_state, method, k_envs = seed_by_seed(one, keys)
        params = observed_params(self.method, method, env.params, keys.shape[0])
        envs = start(env.scenario, k_envs, params, c.num_envs)
        return Training(k_run, theta, opt_state, method, replay, envs, jnp.int32(0))

    def epsilon(self, update: Int[Array, ""]) -> Float[Array, ""]:
        c = self.config
        done = update / (c.epsilon_fraction * self.updates)
        return jnp.maximum(c.epsilon_start + (c.epsilon_end - c.epsilon_start) * done, c.epsilon_end)

    def act(self, epsilon: Float[Array, ""]) -> BatchAct:
        """Epsilon-greedy actions of every seed's policy."""

        def explore_all(theta: Theta, keys: Key[Array, "S"], obs: Float[Array, "S E D"]) -> Int[Array, "S E"]:
            return jax.vmap(self._explore, in_axes=(0, 0, 0, None))(theta.q, keys, obs, epsilon)

        return explore_all

    def _explore(
        self, q: MLP, key: Key[Array, ""], obs: Float[Array, "E D"], epsilon: Float[Array, ""]
    ) -> Int[Array, "E"]:
        """The policy's action, or with probability epsilon any action."""
        k_whether, k_which = jax.random.split(key)
        chosen = self._act(q, jax.random.fold_in(key, ANOTHER_BRANCH), obs)
        anything = jax.random.randint(k_which, chosen.shape, 0, q.biases[-1].shape[0])
        whether = jax.random.uniform(k_whether, chosen.shape) < epsilon
        return jnp.where(whether, anything, chosen)

    def policy(self, theta: Theta) -> MLP:
        """The network of one seed that decides: its largest output is the greedy action."""
        return self._softened(theta.q if theta.average is None else theta.average)

    def _softened(self, q: MLP) -> MLP:
        """The same network with Q / temperature as its outputs, so that their softmax is the policy."""
        return q.sharpened(1 / self.config.temperature) if self.config.temperature else q

    def behave(self, theta: Theta) -> Act:
        """How one seed's policy acts but for exploration: greedily, or sampled with a temperature."""
        return lambda key, obs: self._act(theta.q, key, obs)

    def _act(self, q: MLP, key: Key[Array, ""], obs: Float[Array, "... D"]) -> Int[Array, "..."]:
        outputs = self._softened(q)(obs)
        return jax.random.categorical(key, outputs) if self.config.temperature else outputs.argmax(-1)

    def update(
        self, training: Training, scenario: Scenario, params: Params
    ) -> tuple[Training, dict[str, Array]]:
        c = self.config
        keys = jax.vmap(lambda k: jax.random.split(jax.random.fold_in(k, training.update), 4))(training.key)
        num_groups = params.num_groups
        params = observed_params(self.method, training.method, params, keys.shape[0])
        epsilon = self.epsilon(training.update)
        act = self.act(epsilon)
        envs, batch = rollout(scenario, training.envs, act, training.theta, keys[:, 0], params, c.rollout)
        replay = training.replay.push(jax.tree.map(lambda x: x.reshape(-1, c.batch, *x.shape[3:]), batch))
        # one seed after the other: its numbers stay in the cache
        theta, opt_state, method, diagnostics = jax.lax.map(
            lambda of_seed: self._improve(*of_seed),
            (
                keys[:, 1],
                training.theta,
                training.opt_state,
                training.method,
                batch,
                replay.sample(keys[:, 2], (c.minibatch,)),
                replay.sample(keys[:, 3], (c.epochs, c.minibatch)),
            ),
        )
        sync = (training.update + 1) % c.target_every == 0
        target = jax.tree.map(lambda new, old: jnp.where(sync, new, old), theta.q, theta.target)
        average = training.theta.average
        if average is not None:
            average = move_average(average, theta.q, training.update, c.average)
        theta = Theta(theta.q, target, average)
        diagnostics["epsilon"] = jnp.broadcast_to(epsilon, keys.shape[:1])
        logs = batch_logs(batch, diagnostics, num_groups)
        return Training(training.key, theta, opt_state, method, replay, envs, training.update + 1), logs

    def _improve(
        self,
        k_learn: Key[Array, ""],
        theta: Theta,
        opt_state: optax.OptState,
        method: PyTree,
        fresh: Transitions,
        seen: Transitions,
        drawn: Transitions,
    ) -> tuple[Theta, optax.OptState, PyTree, dict[str, Array]]:
        """One seed's update: `fresh` transitions (T, E), `seen` ones (B,) for the method, minibatches (K, B)."""
        optimizer = self.optimizer()
        method = self.method.measure(method, fresh)
        method, _ = self.method.learn(k_learn, method, jax.tree.map(lambda x: x[:, None], seen))
        # neither the target network nor the method changes during an update
        next_obs, gamma = successors(self.config, drawn)
        best_next = jax.lax.map(
            lambda obs: theta.target(obs).max(-1), next_obs
        )  # as large as a gradient step
        goal = self.method.reward(method, drawn, ()) + gamma * best_next * (1 - drawn.terminated)

        # all weights as one vector: an optimizer's step is then one loop instead of dozens of small ones
        weights, unravel = ravel_pytree(theta.q)

        def improve(
            carry: tuple[Float[Array, "W"], optax.OptState], minibatch: tuple[Array, Array, Array]
        ) -> tuple[tuple[Float[Array, "W"], optax.OptState], dict[str, Array]]:
            weights, opt_state = carry
            (_, logs), gradient = jax.value_and_grad(
                lambda weights: _loss(unravel(weights), *minibatch), has_aux=True
            )(weights)
            change, opt_state = optimizer.update(gradient, opt_state, weights)
            return (weights + change, opt_state), logs

        minibatches = (drawn.obs, drawn.action, goal)
        (weights, opt_state), logs = jax.lax.scan(improve, (weights, opt_state), minibatches)
        diagnostics = {name: values.mean() for name, values in logs.items()} | self.method.diagnostics(method)
        return Theta(unravel(weights), theta.target), opt_state, method, diagnostics


def _loss(
    q: MLP, obs: Float[Array, "B D"], action: Int[Array, "B"], goal: Float[Array, "B"]
) -> tuple[Float[Array, ""], dict[str, Array]]:
    """The mean squared TD error, and what CleanRL logs of it."""
    values = q(obs).T  # the network's own order, in which no gradient is transposed
    # a sum over actions, because the gradient of a lookup is a slow scatter
    value = (values * jax.nn.one_hot(action, values.shape[0], axis=0)).sum(0)
    td_error = goal - value
    loss = (td_error**2).mean()
    return loss, {"loss": loss, "td_error": jnp.abs(td_error).mean(), "q_value": value.mean()}
