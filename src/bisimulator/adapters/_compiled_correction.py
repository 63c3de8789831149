"""The hooks of `methods.bisimulator` on plain arrays, compiled once per shape. Shapes: B decisions, D row entries."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import Env
from bisimulator.methods.bisimulator import Bisimulator, State
from bisimulator.methods.hooks import Transitions


@dataclasses.dataclass(frozen=True)
class _Params:
    omega: Float[Array, "G K"]


@dataclasses.dataclass(frozen=True)
class _EnvShapes:
    """All that the method reads of an environment when it starts."""

    observation_size: int
    num_actions: int
    params: _Params


@partial(jax.jit, static_argnums=(0, 2, 3))
def init_state(
    method: Bisimulator, key: Key[Array, ""], size: int, num_actions: int, omega: Float[Array, "G K"]
) -> State:
    return method.init(key, cast("Env", _EnvShapes(size, num_actions, _Params(omega))), 1)


@partial(jax.jit, static_argnums=0)
def learn(
    method: Bisimulator,
    key: Key[Array, ""],
    state: State,
    rows: Float[Array, "B D"],
    action: Int[Array, "B"],
    reward: Float[Array, "B"],
    group: Int[Array, "B"],
) -> State:
    batch = _transitions(rows, action, reward, group)
    return method.learn(key, state, jax.tree.map(lambda x: x[:, None], batch))[0]


@partial(jax.jit, static_argnums=0)
def corrections(
    method: Bisimulator, state: State, rows: Float[Array, "B D"], action: Int[Array, "B"]
) -> Float[Array, "B"]:
    """alpha * R_phi of each decision: the corrected reward of decisions whose reward is 0."""
    no_reward = jnp.zeros(rows.shape[0])
    return method.reward(state, _transitions(rows, action, no_reward, jnp.zeros_like(action)), ())


def _transitions(
    rows: Float[Array, "B D"], action: Int[Array, "B"], reward: Float[Array, "B"], group: Int[Array, "B"]
) -> Transitions:
    """Transitions with the fields that the correction reads; it ignores the others."""
    unused = jnp.zeros(rows.shape[0], bool)
    return Transitions(
        obs=rows,
        action=action,
        accepted=unused,
        reward=reward,
        next_obs=rows,
        terminated=unused,
        truncated=unused,
        group=group,
        qualified=unused,
        next_self_obs=rows,
    )
