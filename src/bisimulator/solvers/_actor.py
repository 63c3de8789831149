"""PPO's policies: of one numbered choice, of several at once, or of real numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bisimulator.core import Discrete, Env, MultiDiscrete
from bisimulator.policies import MLP, Categoricals, Gaussian

Actor: TypeAlias = MLP | Categoricals | Gaussian  # of one choice, of several, or of real numbers


def make_actor(net: Callable[..., MLP], env: Env) -> Actor:
    """The network of a policy for the actions of an environment."""
    space = env.action_space
    if isinstance(space, Discrete):
        return net(outputs=space.n)
    if isinstance(space, MultiDiscrete):
        return Categoricals(net(outputs=sum(space.nvec)), space.nvec)
    if len(space.shape) != 1:
        raise ValueError(
            f"PPO needs actions of one dimension, got shape {space.shape}; flatten them, as (4,)"
        )
    return Gaussian(net(outputs=space.shape[0]), jnp.zeros(space.shape))


def sample(actor: Actor, key: Key[Array, ""], obs: Float[Array, "*B D"]) -> Array:
    return jax.random.categorical(key, actor(obs)) if isinstance(actor, MLP) else actor.sample(key, obs)


def log_prob_and_entropy(
    actor: Actor, obs: Float[Array, "*B D"], action: Array
) -> tuple[Float[Array, "*B"], Float[Array, "*B"]]:
    """The log probabilities of the actions, and the entropies."""
    if isinstance(actor, Gaussian):
        return actor.log_prob(obs, action), jnp.broadcast_to(actor.entropy(), obs.shape[:-1])
    if isinstance(actor, Categoricals):
        return actor.log_prob_and_entropy(obs, action)
    logits = jax.nn.log_softmax(actor(obs))
    # a sum over actions, because the gradient of a lookup is a slow scatter
    chosen = (logits * jax.nn.one_hot(action, logits.shape[-1])).sum(-1)
    return chosen, -(jnp.exp(logits) * logits).sum(-1)
