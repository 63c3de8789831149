"""Random batches of decisions for the tests of methods."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from bisimulator.methods.hooks import Transitions


def random_batch(seed, steps=12, num_envs=3, groups=2, ends=0.1, size=None):
    """Random decisions (T, E), some of which end an episode."""
    rng = np.random.default_rng(seed)
    shape = (steps, num_envs)
    ended = rng.random(shape) < ends
    terminated = ended & (rng.random(shape) < 0.5)
    action = rng.integers(0, 2, shape)
    qualified = rng.random(shape) < 0.6
    obs = rng.random((*shape, size or groups + 1)).astype(np.float32)
    return Transitions(
        obs=jnp.asarray(obs),
        action=jnp.asarray(action),
        accepted=jnp.asarray(action == 1),
        reward=jnp.asarray(np.where(action == 1, np.where(qualified, 1.0, -1.0), 0.0), jnp.float32),
        next_obs=jnp.asarray(obs),
        terminated=jnp.asarray(terminated),
        truncated=jnp.asarray(ended & ~terminated),
        group=jnp.asarray(rng.integers(0, groups, shape)),
        qualified=jnp.asarray(qualified),
        next_self_obs=jnp.asarray(obs),
    )


def group_batch(seed, steps=12, num_envs=3, groups=2, ends=0.1):
    """Random decisions about all groups at once (T, E)."""
    rng = np.random.default_rng(seed)
    shape = (steps, num_envs, groups)
    supply, demand = rng.integers(0, 3, shape), rng.integers(0, 5, shape)
    tallies = {"supply": supply, "demand": demand, "reward": supply - 0.5 * demand}
    tallies = {name: jnp.asarray(values, jnp.float32) for name, values in tallies.items()}
    batch = random_batch(seed, steps, num_envs, groups, ends)
    return dataclasses.replace(
        batch,
        accepted=jnp.zeros_like(batch.accepted),
        qualified=jnp.zeros_like(batch.qualified),
        group=jnp.full_like(batch.group, -1),
        reward=tallies["reward"].sum(-1),
        tallies=tallies,
    )
