"""A replay buffer that lives inside the compiled program: one ring of transitions for each seed."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from bisimulator.methods.hooks import Transitions


class Replay(eqx.Module):
    """Stores original rewards: a learned correction would go stale, so it is computed when a batch is drawn."""

    data: Transitions  # leading axis: capacity
    next: Int[Array, ""]  # where the next transition goes
    size: Int[Array, ""]  # how many are stored

    def push(self, batch: Transitions) -> Replay:
        """Append transitions (B,), overwriting the oldest."""
        count, capacity = batch.reward.shape[0], self.data.reward.shape[0]
        place = (self.next + jnp.arange(count)) % capacity
        data = jax.tree.map(lambda ring, new: ring.at[place].set(new), self.data, batch)
        return Replay(data, (self.next + count) % capacity, jnp.minimum(self.size + count, capacity))

    def sample(self, key: Key[Array, ""], count: int) -> Transitions:
        """Uniformly with replacement."""
        place = jax.random.randint(key, (count,), 0, self.size)
        drawn: Transitions = jax.tree.map(lambda ring: ring[place], self.data)
        return drawn


def empty_replay(like: Transitions, capacity: int) -> Replay:
    """An empty ring for transitions of the shapes of `like` (B, ...)."""
    data = jax.tree.map(lambda x: jnp.zeros((capacity, *x.shape[1:]), x.dtype), like)
    return Replay(data, jnp.int32(0), jnp.int32(0))
