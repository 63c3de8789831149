"""A replay buffer that lives inside the compiled program: one ring of transitions for each seed."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bisimulator.methods.hooks import Transitions


class Replay(eqx.Module):
    """Stores original rewards: a learned correction would go stale, so it is computed when a batch is drawn.

    A transition is one row of numbers, which is read at once; an observation's group is stored as its number.
    """

    rows: Float[Array, "S C W"]  # C: capacity
    next: Int[Array, ""]  # where the next transitions go
    size: Int[Array, ""]  # how many are stored
    num_groups: int = eqx.field(static=True)

    def push(self, batch: Transitions) -> Replay:
        """Append transitions (S, B), overwriting the oldest. The capacity is a multiple of B."""
        new = _pack(batch, self.num_groups)
        rows = jax.lax.dynamic_update_slice(self.rows, new, (0, self.next, 0))
        count, capacity = new.shape[1], self.rows.shape[1]
        after = (self.next + count) % capacity
        return Replay(rows, after, jnp.minimum(self.size + count, capacity), self.num_groups)

    def sample(self, keys: Key[Array, "S"], shape: tuple[int, ...]) -> Transitions:
        """Transitions (S, *shape), uniformly with replacement."""

        def of_seed(rows: Float[Array, "C W"], key: Key[Array, ""]) -> Float[Array, "*shape W"]:
            return rows[jax.random.randint(key, shape, 0, self.size)]

        return _unpack(jax.vmap(of_seed)(self.rows, keys), self.num_groups)


def empty_replay(seeds: int, capacity: int, observation_size: int, num_groups: int) -> Replay:
    """Empty rings for observations of that size."""
    width = 3 * (observation_size - num_groups + 1) + len(_NUMBERS)
    return Replay(jnp.zeros((seeds, capacity, width)), jnp.int32(0), jnp.int32(0), num_groups)


_OBSERVATIONS = ("obs", "next_obs", "next_self_obs")
_NUMBERS = {
    "action": jnp.int32,
    "accepted": bool,
    "reward": jnp.float32,
    "terminated": bool,
    "truncated": bool,
    "group": jnp.int32,
    "qualified": bool,
}


def _pack(batch: Transitions, num_groups: int) -> Float[Array, "*B W"]:
    """One row per transition; whole numbers up to 2**24 stay exact."""
    codes = jnp.arange(num_groups, dtype=jnp.float32)

    def compact(obs: Float[Array, "*B D"]) -> Float[Array, "*B F"]:
        score, group, other = jnp.split(obs, [1, 1 + num_groups], axis=-1)
        return jnp.concatenate([score, (group @ codes)[..., None], other], -1)

    observations = [compact(getattr(batch, name)) for name in _OBSERVATIONS]
    numbers = [getattr(batch, name).astype(jnp.float32)[..., None] for name in _NUMBERS]
    return jnp.concatenate([*observations, *numbers], -1)


def _unpack(rows: Float[Array, "*B W"], num_groups: int) -> Transitions:
    size = (rows.shape[-1] - len(_NUMBERS)) // len(_OBSERVATIONS)

    def expand(obs: Float[Array, "*B F"]) -> Float[Array, "*B D"]:
        one_hot = jax.nn.one_hot(obs[..., 1].astype(jnp.int32), num_groups, dtype=obs.dtype)
        return jnp.concatenate([obs[..., :1], one_hot, obs[..., 2:]], -1)

    fields: dict[str, Any] = {
        name: expand(rows[..., i * size : (i + 1) * size]) for i, name in enumerate(_OBSERVATIONS)
    }
    for i, (name, dtype) in enumerate(_NUMBERS.items()):
        fields[name] = rows[..., len(_OBSERVATIONS) * size + i].astype(dtype)
    return Transitions(**fields)
