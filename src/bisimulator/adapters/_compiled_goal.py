"""The control of a goal on plain arrays, compiled once per shape. Shapes: K kinds of acceptance, B decisions."""

from __future__ import annotations

from functools import partial

import jax
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from bisimulator.goals.control import Controller, ControlState


def known_groups(group: NDArray[np.int64]) -> NDArray[np.int32]:
    """Decisions on nobody have no moments, so it does not matter which group they are counted in."""
    return np.maximum(group, 0).astype(np.int32)


@partial(jax.jit, static_argnums=0)
def measure(
    controller: Controller, state: ControlState, moments: Float[Array, "K B M"], group: Int[Array, "B"]
) -> ControlState:
    return jax.vmap(controller.measure, (0, 0, None))(state, moments, group)


@partial(jax.jit, static_argnums=0)
def correction(
    controller: Controller, state: ControlState, moments: Float[Array, "K B M"], group: Int[Array, "B"]
) -> Float[Array, "B"]:
    return jax.vmap(controller.correction, (0, 0, None))(state, moments, group).sum(0)
