"""Proximal policy optimisation with CleanRL's details; all seeds advance together.

One update is: roll out, let the method learn and shape the reward, estimate advantages, then a number of epochs
over shuffled minibatches. The method's hooks are the only place where fairness enters.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import Env, Scenario
from bisimulator.learn.checks import check_solver_config
from bisimulator.learn.gae import gae
from bisimulator.learn.rollout import Copies, batch_logs, rollout, seed_by_seed, seen_params, start
from bisimulator.methods.hooks import Method, Transitions
from bisimulator.nets import MLP, make_mlp
from bisimulator.simulate import Act


@dataclasses.dataclass(frozen=True)
class PPOConfig:
    """The paper's hyperparameters (its table "Hyperparameters for PPO")."""

    num_envs: int = 8  # copies of the environment per seed
    rollout: int = 64  # steps of each copy per update; 8 x 64 is the paper's batch of 512
    minibatch: int = 64  # transitions per gradient step
    epochs: int = 5  # passes over the batch per update
    learning_rate: float = 5e-5  # annealed linearly to 0
    gamma: float = 0.99  # discount factor
    gae_lambda: float = 0.95  # lambda of the advantage estimation
    clip: float = 0.2  # clipping of the probability ratio, and of the value loss
    entropy: float = 0.01  # weight of the entropy bonus
    value: float = 0.5  # weight of the value loss
    max_grad_norm: float = 0.5  # gradients longer than this are shortened to it
    hidden: tuple[int, ...] = (256,)  # hidden layers of actor and critic
    anneal: bool = True  # anneal the learning rate
    input_scale: float = 20.0  # observations in 0..1 are stretched by this before the networks

    def __post_init__(self) -> None:
        check_solver_config(self)
        if self.batch % self.minibatch:
            raise ValueError(
                f"minibatch must divide num_envs * rollout = {self.batch}, got {self.minibatch}; try {self.batch // 8}"
            )

    @property
    def batch(self) -> int:
        """Environment steps per update."""
        return self.num_envs * self.rollout


class Theta(eqx.Module):
    actor: MLP
    critic: MLP  # one output for the reward and one for each extra stream


class Training(eqx.Module):
    """Everything that changes during training; every leaf but `copies.t` and `update` has a leading seed axis."""

    key: Key[Array, "S"]
    theta: Theta
    optimiser: Any
    method: Any
    copies: Copies
    update: Int[Array, ""]


@dataclasses.dataclass(frozen=True)
class PPO:
    """The solver: `init` and `update` are pure; the trainer compiles and loops them."""

    config: PPOConfig
    method: Method
    updates: int  # of the whole training, for annealing

    def optimiser(self) -> optax.GradientTransformation:
        c = self.config
        rate = optax.linear_schedule(c.learning_rate, 0.0, self.updates) if c.anneal else c.learning_rate
        steps = c.epochs * (c.batch // c.minibatch)

        def schedule(count: Array) -> Array:  # annealed per update, as CleanRL
            return rate(count // steps) if callable(rate) else jnp.asarray(rate)

        return optax.chain(optax.clip_by_global_norm(c.max_grad_norm), optax.adam(schedule, eps=1e-5))

    def init(self, keys: Key[Array, "S"], env: Env) -> Training:
        c, size = self.config, env.observation_size
        outputs = 1 + self.method.num_streams(env)
        net = partial(
            make_mlp, inputs=size, hidden=c.hidden, input_scale=c.input_scale, groups=env.num_groups
        )

        def one(key: Key[Array, ""]) -> tuple:
            k_run, k_actor, k_critic, k_method, k_copies = jax.random.split(key, 5)
            theta = Theta(
                actor=net(k_actor, outputs=env.num_actions, output_scale=0.01),
                critic=net(k_critic, outputs=outputs, output_scale=1.0),
            )
            return (
                k_run,
                theta,
                self.optimiser().init(theta),
                self.method.init(k_method, env, c.num_envs),
                k_copies,
            )

        k_run, theta, optimiser, method, k_copies = seed_by_seed(one, keys)
        params = seen_params(self.method, method, env.params, keys.shape[0])
        copies = start(env.scenario, k_copies, params, c.num_envs)
        return Training(k_run, theta, optimiser, method, copies, jnp.int32(0))

    def policy(self, theta: Theta) -> MLP:
        """The network of one seed that decides: its largest output is the greedy action."""
        return theta.actor

    def behave(self, theta: Theta) -> Act:
        """How one seed's policy acts while it learns: sampled."""
        return lambda key, obs: jax.random.categorical(key, theta.actor(obs))

    def update(
        self, training: Training, scenario: Scenario, params: Any
    ) -> tuple[Training, dict[str, Array]]:
        c = self.config
        keys = jax.vmap(lambda k: jax.random.split(jax.random.fold_in(k, training.update), 3))(training.key)
        num_groups = params.num_groups
        params = seen_params(self.method, training.method, params, keys.shape[0])
        copies, batch = rollout(scenario, training.copies, act, training.theta, keys[:, 0], params, c.rollout)
        theta, optimiser, method, loss = jax.vmap(self._improve)(
            keys[:, 1], keys[:, 2], training.theta, training.optimiser, training.method, batch
        )
        logs = batch_logs(batch, loss, num_groups)
        return Training(training.key, theta, optimiser, method, copies, training.update + 1), logs

    def _improve(
        self,
        k_method: Key[Array, ""],
        k_shuffle: Key[Array, ""],
        theta: Theta,
        optimiser: Any,
        method: Any,
        batch: Transitions,
    ) -> tuple[Theta, Any, Any, Array]:
        """One seed's update from its batch (T, E)."""
        c = self.config
        method, extras = self.method.learn(k_method, method, batch)
        shaped = self.method.reward(method, batch, extras)
        rewards = jnp.concatenate([shaped[..., None], self.method.streams(method, batch)], -1)
        value, next_value = theta.critic(batch.obs), theta.critic(batch.next_obs)
        advantages = gae(rewards, value, next_value, batch.terminated, batch.truncated, c.gamma, c.gae_lambda)
        log_prob = _log_prob(theta.actor, batch.obs, batch.action)
        data = (batch.obs, batch.action, log_prob, value, advantages, extras)
        flat = jax.tree.map(lambda x: x.reshape(c.batch, *x.shape[2:]), data)
        order = jax.vmap(lambda k: jax.random.permutation(k, c.batch))(jax.random.split(k_shuffle, c.epochs))
        minibatches = jax.tree.map(lambda x: x[order.reshape(-1, c.minibatch)], flat)
        tool = self.optimiser()

        def improve(carry: tuple, minibatch: tuple) -> tuple[tuple, Array]:
            theta, optimiser = carry
            loss, gradient = jax.value_and_grad(self._loss)(theta, method, minibatch)
            change, optimiser = tool.update(gradient, optimiser, theta)
            return (optax.apply_updates(theta, change), optimiser), loss

        (theta, optimiser), losses = jax.lax.scan(improve, (theta, optimiser), minibatches)
        return theta, optimiser, method, losses.mean()

    def _loss(self, theta: Theta, method: Any, minibatch: tuple) -> Float[Array, ""]:
        c = self.config
        obs, action, old_log_prob, old_value, advantages, extras = minibatch
        logits = jax.nn.log_softmax(theta.actor(obs))
        log_prob = jnp.take_along_axis(logits, action[:, None], 1)[:, 0]
        ratio = jnp.exp(log_prob - old_log_prob)
        advantage = self.method.advantage(method, advantages, extras)
        clipped = jnp.clip(ratio, 1 - c.clip, 1 + c.clip)
        policy_loss = -jnp.minimum(ratio * advantage, clipped * advantage).mean()
        value, target = theta.critic(obs), advantages + old_value
        near = old_value + jnp.clip(value - old_value, -c.clip, c.clip)
        value_loss = 0.5 * jnp.maximum((value - target) ** 2, (near - target) ** 2).mean(0).sum()
        entropy = -(jnp.exp(logits) * logits).sum(-1).mean()
        return policy_loss - c.entropy * entropy + c.value * value_loss


def act(theta: Theta, keys: Key[Array, "S"], obs: Float[Array, "S E D"]) -> Int[Array, "S E"]:
    """Sampled actions of every seed's policy."""
    return jax.vmap(lambda theta, key, obs: jax.random.categorical(key, theta.actor(obs)))(theta, keys, obs)


def _log_prob(actor: MLP, obs: Float[Array, "*B D"], action: Int[Array, "*B"]) -> Float[Array, "*B"]:
    return jnp.take_along_axis(jax.nn.log_softmax(actor(obs)), action[..., None], -1)[..., 0]
