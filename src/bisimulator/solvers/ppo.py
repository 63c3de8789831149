"""Proximal policy optimisation with CleanRL's details; all seeds advance together.

One update is: roll out, let the method learn and shape the reward, estimate advantages, then a number of epochs
over shuffled minibatches. The method's hooks are the only place where fairness enters.
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
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from bisimulator.core import Act, Env, Params, Scenario
from bisimulator.errors import check_real
from bisimulator.methods.hooks import HOOKS, Hook, Method, Transitions
from bisimulator.policies import MLP, make_mlp
from bisimulator.solvers._actor import Actor, log_prob_and_entropy, make_actor, sample
from bisimulator.solvers._clipping import clip_vector
from bisimulator.solvers._value_scale import ValueScale
from bisimulator.solvers.gae import gae
from bisimulator.solvers.rollout import EnvBatch, batch_logs, observed_params, rollout, seed_by_seed, start
from bisimulator.solvers.solver import Bootstrap, check_solver_config, move_average, successors


@dataclasses.dataclass(frozen=True)
class PPOConfig:
    """The paper's hyperparameters (its table "Hyperparameters for PPO")."""

    num_envs: int = 8  # environments per seed
    rollout: int = 64  # steps of each environment per update; 8 x 64 is the paper's batch of 512
    minibatch: int = 64  # transitions per gradient step
    epochs: int = 5  # passes over the batch per update
    learning_rate: float = 5e-5  # annealed to 0
    gamma: float = 0.99  # discount factor
    gae_lambda: float = 0.95  # lambda of the advantage estimation
    bootstrap: Bootstrap = "next"  # whose value follows: the next applicant's, or the same person's
    visit_gamma: float = 0.9  # discount from one visit of a person to the next, with bootstrap "same-person"
    clip: float = 0.2  # clipping of the probability ratio, and of the value loss
    entropy: float = 0.01  # weight of the entropy bonus
    value: float = 0.5  # weight of the value loss
    max_grad_norm: float = 0.5  # gradient-norm clipping
    hidden: tuple[int, ...] = (256,)  # hidden layers of actor and critic
    anneal: bool = True  # anneal the learning rate
    anneal_power: float = 1.0  # 1: linearly; 2: with the square of the updates that are left
    input_scale: float = 20.0  # observations in 0..1 are multiplied by this before the networks
    average: float = 0.0  # share of the updates so far over which the policy is averaged; 0: the last one
    sharpen: float = 1.0  # factor by which logits grow between 20% and 60% of the training, to explore less
    normalize_values: bool = False  # the critic learns values in units of the returns' standard deviation
    group_blind: bool = False  # the policy does not look at the group; the critic, which only learns, does
    critic_clock: bool = False  # the critic also sees how much of the episode is left; the policy does not

    def __post_init__(self) -> None:
        check_solver_config(self)
        check_real("gae_lambda", self.gae_lambda, min=0, max=1)
        check_real("clip", self.clip, min=1e-9)
        check_real("anneal_power", self.anneal_power, min=1e-9)
        check_real("max_grad_norm", self.max_grad_norm, min=1e-9)
        check_real("sharpen", self.sharpen, min=1e-9)
        if self.batch % self.minibatch:
            raise ValueError(
                f"minibatch must divide num_envs * rollout = {self.batch}, got {self.minibatch}; try {self.batch // 8}"
            )

    @property
    def batch(self) -> int:
        """Environment steps per update."""
        return self.num_envs * self.rollout

    @property
    def stochastic(self) -> bool:
        """What is learned is a stochastic policy."""
        return True


_SHARPENED = (0.2, 0.6)  # of the training: the rates of groups settle again afterwards


class Theta(eqx.Module):
    actor: Actor
    critic: MLP  # one output for the reward and one for each extra stream
    average: Actor | None = None  # of the actor, if the policy is averaged
    scale: ValueScale | None = None  # of the critic's outputs, if values are normalised


class Training(eqx.Module):
    """Everything that changes during training; every leaf but `envs.t` and `update` has a leading seed axis."""

    key: Key[Array, "S"]
    theta: Theta
    opt_state: optax.OptState
    method: PyTree
    envs: EnvBatch
    update: Int[Array, ""]


class Minibatch(eqx.Module):
    seen: Float[Array, "B D+L"]  # by the critic: the observation and, with `critic_clock`, the clock (L = 1)
    action: Int[Array, "B"] | Float[Array, "B A"]
    log_prob: Float[Array, "B"]
    value: Float[Array, "B K"]
    advantages: Float[Array, "B K"]
    advantage: Float[Array, "B"]  # what the method makes of them


class Terms(eqx.Module):
    """What the loss of a minibatch is the mean of."""

    log_ratio: Float[Array, "*B"]
    objective: Float[Array, "*B"]
    value_loss: Float[Array, "*B"]
    entropy: Float[Array, "*B"]

    def logs(self, config: PPOConfig) -> dict[str, Array]:
        """What CleanRL logs, over all minibatches of an update."""
        ratio = jnp.exp(self.log_ratio)
        policy_loss, value_loss, entropy = -self.objective.mean(), self.value_loss.mean(), self.entropy.mean()
        return {
            "loss": policy_loss - config.entropy * entropy + config.value * value_loss,
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "approx_kl": (ratio - 1 - self.log_ratio).mean(),
            "clip_fraction": (jnp.abs(ratio - 1) > config.clip).mean(),
        }


@dataclasses.dataclass(frozen=True)
class PPO:
    """The solver: `init` and `update` are pure; the trainer compiles and loops them."""

    config: PPOConfig
    method: Method
    updates: int  # of the whole training, for annealing
    hooks: ClassVar[frozenset[Hook]] = HOOKS

    def optimizer(self) -> optax.GradientTransformation:
        c = self.config
        annealed = optax.polynomial_schedule(c.learning_rate, 0.0, c.anneal_power, self.updates)
        steps = c.epochs * (c.batch // c.minibatch)

        def schedule(count: Array) -> Array:  # annealed per update, as CleanRL
            return jnp.asarray(annealed(count // steps) if c.anneal else c.learning_rate)

        return optax.chain(clip_vector(c.max_grad_norm), optax.adam(schedule, eps=1e-5))

    def init(self, keys: Key[Array, "S"], env: Env) -> Training:
        c = self.config
        outputs = 1 + self.method.num_streams(env)
        net = partial(
            make_mlp,
            hidden=c.hidden,
            input_scale=c.input_scale,
            groups=env.group_entries,
        )

        def one(key: Key[Array, ""]) -> tuple[Key[Array, ""], Theta, optax.OptState, PyTree, Key[Array, ""]]:
            k_run, k_actor, k_critic, k_method, k_envs = jax.random.split(key, 5)
            size = env.observation_size
            actor = make_actor(partial(net, k_actor, size, output_scale=0.01, group_blind=c.group_blind), env)
            critic = net(k_critic, size + c.critic_clock, outputs=outputs, output_scale=1.0)
            return (
                k_run,
                Theta(
                    actor,
                    critic,
                    actor if c.average else None,
                    ValueScale.start(outputs) if c.normalize_values else None,
                ),
                self.optimizer().init(ravel_pytree(Theta(actor, critic))[0]),
                self.method.init(k_method, env, c.num_envs),
                k_envs,
            )

        k_run, theta, opt_state, method, k_envs = seed_by_seed(one, keys)
        params = observed_params(self.method, method, env.params, keys.shape[0])
        envs = start(env.scenario, k_envs, params, c.num_envs)
        return Training(k_run, theta, opt_state, method, envs, jnp.int32(0))

    def policy(self, theta: Theta) -> Actor:
        """The network of one seed that decides: its largest output, or its mean, is the greedy action."""
        return theta.actor if theta.average is None else theta.average

    def behave(self, theta: Theta) -> Act:
        """How one seed's policy acts while it learns: sampled."""
        return lambda key, obs: sample(theta.actor, key, obs)

    def update(
        self, training: Training, scenario: Scenario, params: Params
    ) -> tuple[Training, dict[str, Array]]:
        c = self.config
        keys = jax.vmap(lambda k: jax.random.split(jax.random.fold_in(k, training.update), 3))(training.key)
        num_groups = params.num_groups
        params = observed_params(self.method, training.method, params, keys.shape[0])
        envs, batch = rollout(scenario, training.envs, act, training.theta, keys[:, 0], params, c.rollout)
        theta, opt_state, method, diagnostics = jax.lax.map(
            lambda of_seed: self._improve(*of_seed),
            (keys[:, 1], keys[:, 2], training.theta, training.opt_state, training.method, batch),
        )
        if c.sharpen != 1:
            theta = dataclasses.replace(theta, actor=theta.actor.sharpened(self._growth(training.update)))
        if training.theta.average is not None:
            average = move_average(training.theta.average, theta.actor, training.update, c.average)
            theta = dataclasses.replace(theta, average=average)
        logs = batch_logs(batch, diagnostics, num_groups)
        return Training(training.key, theta, opt_state, method, envs, training.update + 1), logs

    def _growth(self, update: Int[Array, ""]) -> Float[Array, ""]:
        """By how much logits grow after an update."""
        begin, end = (share * self.updates for share in _SHARPENED)
        before, after = (jnp.clip((u - begin) / (end - begin), 0.0, 1.0) for u in (update, update + 1))
        return jnp.asarray(self.config.sharpen) ** (after - before)

    def _improve(
        self,
        k_method: Key[Array, ""],
        k_shuffle: Key[Array, ""],
        theta: Theta,
        opt_state: optax.OptState,
        method: PyTree,
        batch: Transitions,
    ) -> tuple[Theta, optax.OptState, PyTree, dict[str, Array]]:
        """One seed's update from its batch (T, E)."""
        c, scale, theta = self.config, theta.scale, Theta(theta.actor, theta.critic)
        method = self.method.measure(method, batch)
        method, extras = self.method.learn(k_method, method, batch)
        shaped = self.method.reward(method, batch, extras)
        rewards = jnp.concatenate([shaped[..., None], self.method.streams(method, batch)], -1)
        next_obs, gamma = successors(c, batch)
        seen, next_seen = self._seen(batch.obs, 0, batch), self._seen(next_obs, 1, batch)
        value = theta.critic(seen)
        next_value = self._next_value(theta.critic, value, next_seen, batch.truncated)
        if scale is not None:
            value, next_value = scale.values(value), scale.values(next_value)
        # the same person's later decisions are not the next ones of the rollout, so only one step counts
        lam = c.gae_lambda if c.bootstrap == "next" else 0.0
        advantages = gae(rewards, value, next_value, batch.terminated, batch.truncated, gamma, lam)
        if scale is not None:
            scale, critic = scale.update(theta.critic, advantages + value)
            theta = Theta(theta.actor, critic)
        log_prob, _ = log_prob_and_entropy(theta.actor, batch.obs, batch.action)
        data = (seen, batch.action, log_prob, value, advantages, extras)
        flat = jax.tree.map(lambda x: x.reshape(c.batch, *x.shape[2:]), data)
        order = shuffles(k_shuffle, c.epochs, c.batch)
        drawn = jax.tree.map(lambda x: x[order.reshape(-1, c.minibatch)], flat)
        # the method does not change during the epochs, so all minibatches at once
        advantage = jax.vmap(partial(self.method.advantage, method))(*drawn[-2:])
        seen, action, before, values, streams, _ = drawn
        minibatches = Minibatch(seen, action, before, values, streams, advantage)
        # all weights as one vector: an optimizer's step is then one loop instead of dozens of small ones
        weights, unravel = ravel_pytree(theta)
        optimizer = self.optimizer()

        def improve(
            carry: tuple[Float[Array, "W"], optax.OptState], minibatch: Minibatch
        ) -> tuple[tuple[Float[Array, "W"], optax.OptState], Terms]:
            weights, opt_state = carry
            gradient, terms = jax.grad(
                lambda weights: self._loss(unravel(weights), method, minibatch, scale), has_aux=True
            )(weights)
            change, opt_state = optimizer.update(gradient, opt_state, weights)
            return (weights + change, opt_state), terms

        (weights, opt_state), terms = jax.lax.scan(improve, (weights, opt_state), minibatches)
        theta = unravel(weights)
        diagnostics = terms.logs(c) | self.method.diagnostics(method)
        diagnostics["explained_variance"] = explained_variance(value[..., 0], advantages[..., 0])
        return Theta(theta.actor, theta.critic, None, scale), opt_state, method, diagnostics

    def _next_value(
        self,
        critic: MLP,
        value: Float[Array, "T E K"],
        next_seen: Float[Array, "T E D+L"],
        truncated: Bool[Array, "T E"],
    ) -> Float[Array, "T E K"]:
        """Values after the decisions; after a terminated episode they do not count."""

        def known() -> Float[Array, "T E K"]:  # what follows is what the next decision sees
            return jnp.concatenate([value[1:], critic(next_seen[-1:])])

        if self.config.bootstrap != "next":
            return critic(next_seen)
        found: Float[Array, "T E K"] = jax.lax.cond(truncated.any(), lambda: critic(next_seen), known)
        return found

    def _seen(self, obs: Float[Array, "T E D"], moment: int, batch: Transitions) -> Float[Array, "T E D+L"]:
        """What the critic sees of observations, before (moment 0) or after (1) the decisions of the batch."""
        if not self.config.critic_clock:
            return obs
        if batch.remaining is None:
            raise ValueError(
                "critic_clock needs an environment whose steps say how much of the episode is left, as lives do; "
                "train with the view 'life', or pass critic_clock=False"
            )
        return jnp.concatenate([obs, batch.remaining[..., moment, None]], -1)

    def _loss(
        self, theta: Theta, method: PyTree, batch: Minibatch, scale: ValueScale | None
    ) -> tuple[Float[Array, ""], Terms]:
        c = self.config
        obs = batch.seen[:, : batch.seen.shape[-1] - c.critic_clock]
        log_prob, entropy = log_prob_and_entropy(theta.actor, obs, batch.action)
        log_ratio = log_prob - batch.log_prob
        objective = self.method.objective(method, jnp.exp(log_ratio), batch.advantage, c.clip)
        value, before, target = theta.critic(batch.seen), batch.value, batch.advantages + batch.value
        if scale is not None:
            before, target = scale.outputs(before), scale.outputs(target)
        near = before + jnp.clip(value - before, -c.clip, c.clip)
        value_loss = 0.5 * jnp.maximum((value - target) ** 2, (near - target) ** 2).sum(-1)
        loss = -objective.mean() - c.entropy * entropy.mean() + c.value * value_loss.mean()
        # averaged after all minibatches: in the loop, each mean would be two more small operations
        return loss, Terms(log_ratio, objective, value_loss, entropy)


def act(theta: Theta, keys: Key[Array, "S"], obs: Float[Array, "S E D"]) -> Int[Array, "S E"]:
    """Sampled actions of every seed's policy."""
    return jax.vmap(lambda theta, key, obs: sample(theta.actor, key, obs))(theta, keys, obs)


def shuffles(key: Key[Array, ""], count: int, size: int) -> Int[Array, "count size"]:
    """Random permutations: random numbers sorted, whose last bits are the positions.

    `jax.random.permutation` sorts pairs of a number and a position, which takes XLA several times as long.
    """
    bits = jax.random.bits(key, (count, size))
    last = (1 << (size - 1).bit_length()) - 1
    return (jnp.sort(bits & ~last | jnp.arange(size, dtype=bits.dtype)[None]) & last).astype(jnp.int32)


def explained_variance(value: Float[Array, "*B"], advantage: Float[Array, "*B"]) -> Float[Array, ""]:
    """1 - Var(return - value) / Var(return): 1 for a perfect critic, 0 for a constant one, as CleanRL."""
    spread = (value + advantage).var()
    return jnp.where(spread > 0, 1 - advantage.var() / jnp.maximum(spread, 1e-12), 0.0)
