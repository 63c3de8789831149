"""Pendulum with the physics of Gymnasium's Pendulum-v1. An observation is (cos theta, 1, sin theta, theta')."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import Box, Env, Step
from tests import probes

GRAVITY, TAU, MAX_SPEED, MAX_TORQUE = 10.0, 0.05, 8.0, 2.0


class State(eqx.Module):
    at: Float[Array, "2"]  # theta, theta'
    t: Int[Array, ""]


def make_params(*, horizon: int = 200) -> probes.CartParams:
    return dataclasses.replace(probes.make_cart_params(horizon=horizon), observation_size=4)


def reset(key: Key[Array, ""], params: probes.CartParams) -> State:
    low = jnp.array([-jnp.pi, -1.0])
    return State(jax.random.uniform(key, (2,), minval=low, maxval=-low), jnp.int32(0))


def step(
    key: Key[Array, ""], state: State, action: Float[Array, "1"], params: probes.CartParams
) -> tuple[State, Step]:
    theta, speed = state.at
    torque = jnp.clip(action[0], -MAX_TORQUE, MAX_TORQUE)
    angle = (theta + jnp.pi) % (2 * jnp.pi) - jnp.pi
    cost = angle**2 + 0.1 * speed**2 + 0.001 * torque**2
    speed = jnp.clip(speed + (1.5 * GRAVITY * jnp.sin(theta) + 3 * torque) * TAU, -MAX_SPEED, MAX_SPEED)
    after = State(jnp.stack([theta + speed * TAU, speed]), state.t + 1)
    obs = observe(after, params)
    return after, Step(
        obs=obs,
        reward=-cost,
        terminated=jnp.array(False),
        truncated=after.t >= params.horizon,
        group=jnp.int32(0),
        qualified=jnp.array(True),
        cost=jnp.float32(0),
        next_self_obs=obs,
    )


def observe(state: State, params: probes.CartParams) -> Float[Array, "4"]:
    theta, speed = state.at
    return jnp.stack([jnp.cos(theta), jnp.ones_like(theta), jnp.sin(theta), speed])


PENDULUM = dataclasses.replace(
    probes.CART_POLE,
    summary="Pendulum",
    make_params=make_params,
    reset=reset,
    step=step,
    observe=observe,
    discrete=False,
    action_space=lambda params: Box(-MAX_TORQUE, MAX_TORQUE, (1,)),
    accepts=lambda action: jnp.zeros(action.shape[:-1], bool),
)


def pendulum(**params: int) -> Env:
    return Env("pendulum", PENDULUM, make_params(**params))
