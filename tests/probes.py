"""Probe environments: so small that values and optimal policies are known exactly. Also cart-pole.

All probes are one scenario whose parameter `probe` selects one of them, so that a solver is compiled only once. There
is one group and one person; an observation is (signal, 1), where 1 is the one-hot entry of the group.
"""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, PyTree

from bisimulator.core import Box, Env, MultiDiscrete, Scenario, Snapshot, Step
from bisimulator.solvers.solver import TrainingState

CONSTANT, OBSERVATION, ACTION, MATCHING, TWO_STEP, TERMINATED, TRUNCATED, TURNS = range(8)


class Params(eqx.Module):
    probe: Int[Array, ""]
    omega: Float[Array, "1 1"]
    horizon: Int[Array, ""]
    population: int = eqx.field(static=True, default=1)
    num_groups: int = eqx.field(static=True, default=1)
    num_scores: int = eqx.field(static=True, default=2)
    observation_size: int = eqx.field(static=True, default=2)
    group_names: tuple[str, ...] = eqx.field(static=True, default=())
    score_edges: tuple[float, ...] = eqx.field(static=True, default=())
    omega_scale: float = eqx.field(static=True, default=1.0)


class State(eqx.Module):
    signal: Float[Array, ""]
    t: Int[Array, ""]


def make_params(*, probe: int = CONSTANT, omega: float = 1.0, horizon: int = 2) -> Params:
    return Params(jnp.int32(probe), jnp.full((1, 1), omega, jnp.float32), jnp.int32(horizon))


def reset(key: Key[Array, ""], params: Params) -> State:
    signed = (params.probe == OBSERVATION) | (params.probe == MATCHING)
    side = jnp.where(jax.random.bernoulli(key), 1.0, -1.0)
    anybody = jax.random.randint(jax.random.fold_in(key, 1), (), -1, 2).astype(jnp.float32)
    signal = jnp.where(params.probe == TURNS, anybody, jnp.where(signed, side, 0.0))
    return State(signal, jnp.int32(0))


def step(key: Key[Array, ""], state: State, action: Int[Array, ""], params: Params) -> tuple[State, Step]:
    """The reward of each probe.

    CONSTANT: 1. OBSERVATION: the signal, -1 or 1. ACTION: 1 for action 1 and -1 for action 0. MATCHING: 1 if the action
    is 1 exactly when the signal is positive, else -1. All of these terminate after one step. TWO_STEP: the first action
    sets the signal to -1 or 1, and the second step pays the signal whatever the action. TERMINATED and TRUNCATED: 1 per
    step, and every step terminates or truncates the episode. TURNS: people take turns, one step each. It pays the
    signal; a person without one (0) gets -1 or 1 by the action and keeps it, but the next observation is of somebody
    else, who has none.
    """
    sign = 2.0 * action - 1.0
    fits = jnp.where((state.signal > 0) == (action == 1), 1.0, -1.0)
    rewards = jnp.stack(
        [jnp.float32(1), state.signal, sign, fits, state.signal, jnp.float32(1), jnp.float32(1), state.signal]
    )
    two_step, turns, t = params.probe == TWO_STEP, params.probe == TURNS, state.t + 1
    decides = (two_step & (state.t == 0)) | (turns & (state.signal == 0))
    myself = State(jnp.where(decides, sign, state.signal), t)
    after = State(jnp.where(turns, 0.0, myself.signal), t)
    truncated = (params.probe == TRUNCATED) | turns
    terminated = ~truncated & (~two_step | (t >= 2))
    obs = observe(after, params)
    return after, Step(
        obs=obs,
        reward=rewards[params.probe],
        terminated=terminated,
        truncated=truncated,
        group=jnp.int32(0),
        qualified=action == 1,
        cost=jnp.float32(0),
        next_self_obs=observe(myself, params),
    )


def observe(state: State, params: Params) -> Float[Array, "2"]:
    return jnp.stack([state.signal, jnp.ones_like(state.signal)])


def snapshot(state: State) -> Snapshot:
    score = (state.signal > 0).astype(jnp.float32).reshape(1)
    return Snapshot(jnp.zeros(1, jnp.int32), score, score)


PROBES = Scenario(
    summary="Probe environments",
    make_params=make_params,
    reset=reset,
    step=step,
    observe=observe,
    snapshot=snapshot,
    omega_names=("nothing",),
    omega_bounds=(0.0, 9.0),
)


def aim(key: Key[Array, ""], state: State, action: Float[Array, "2"], params: Params) -> tuple[State, Step]:
    """Real actions: the closer to half the signal and to minus half of it, the better."""
    error = jnp.clip(action, -1, 1) - state.signal * jnp.array([0.5, -0.5])
    after, out = step(key, state, jnp.int32(0), params)
    return after, eqx.tree_at(lambda out: out.reward, out, -(error**2).sum())


AIMING = dataclasses.replace(
    PROBES,
    step=aim,
    discrete=False,
    action_space=lambda params: Box(-1.0, 1.0, (2,)),
    accepts=lambda action: jnp.zeros(action.shape[:-1], bool),
)


def choose(key: Key[Array, ""], state: State, action: Int[Array, "2"], params: Params) -> tuple[State, Step]:
    """Two choices, of three and of two options: 1 for each that is the best one for the signal."""
    best = jnp.where(state.signal > 0, jnp.array([2, 0]), jnp.array([1, 1]))
    after, out = step(key, state, jnp.int32(0), params)
    return after, eqx.tree_at(lambda out: out.reward, out, (action == best).sum().astype(jnp.float32))


CHOOSING = dataclasses.replace(
    PROBES,
    step=choose,
    discrete=False,
    action_space=lambda params: MultiDiscrete((3, 2)),
    accepts=lambda action: jnp.zeros(action.shape[:-1], bool),
)


def probe(which: int, **params: float) -> Env:
    return Env("probe", PROBES, make_params(probe=which, **params))


def all_seeds(training: tuple[TrainingState, ...]) -> tuple[PyTree, PyTree]:
    """theta and the state of the method of all seeds, from the shards in which they are trained."""
    shards = [(shard.theta, shard.method) for shard in training]
    return jax.tree.map(lambda *x: np.concatenate([np.asarray(v) for v in x]), *shards)


def values(which: int, gamma: float) -> dict[float, float]:
    """signal -> the value of the optimal policy at that signal."""
    return {
        CONSTANT: {0.0: 1.0},
        OBSERVATION: {-1.0: -1.0, 1.0: 1.0},
        ACTION: {0.0: 1.0},
        MATCHING: {-1.0: 1.0, 1.0: 1.0},
        TWO_STEP: {0.0: gamma, 1.0: 1.0},
        TERMINATED: {0.0: 1.0},
        TRUNCATED: {0.0: 1 / (1 - gamma)},
        TURNS: {-1.0: -1.0, 0.0: 0.0, 1.0: 1.0},
    }[which]


def values_of_turns(visit_gamma: float) -> dict[float, tuple[float, float]]:
    """signal -> the values of both actions in TURNS if the value that follows is the same person's."""
    kept = 1 / (1 - visit_gamma)
    return {-1.0: (-kept, -kept), 0.0: (-visit_gamma * kept, visit_gamma * kept), 1.0: (kept, kept)}


def best_actions(which: int) -> dict[float, int]:
    """signal -> the optimal action, if there is only one."""
    return {ACTION: {0.0: 1}, MATCHING: {-1.0: 0, 1.0: 1}, TWO_STEP: {0.0: 1}}.get(which, {})


# Cart-pole with the physics of Gymnasium's CartPole-v1. An observation is (x, 1, x', theta, theta').

GRAVITY, MASS_POLE, MASS_TOTAL, HALF_LENGTH, FORCE, TAU = 9.8, 0.1, 1.1, 0.5, 10.0, 0.02
MAX_X, MAX_THETA = 2.4, 12 * 2 * np.pi / 360


class CartParams(eqx.Module):
    omega: Float[Array, "1 1"]
    horizon: Int[Array, ""]
    population: int = eqx.field(static=True, default=1)
    num_groups: int = eqx.field(static=True, default=1)
    num_scores: int = eqx.field(static=True, default=2)
    observation_size: int = eqx.field(static=True, default=5)
    group_names: tuple[str, ...] = eqx.field(static=True, default=())
    score_edges: tuple[float, ...] = eqx.field(static=True, default=())
    omega_scale: float = eqx.field(static=True, default=1.0)


class CartState(eqx.Module):
    at: Float[Array, "4"]  # x, x', theta, theta'
    t: Int[Array, ""]


def make_cart_params(*, horizon: int = 500) -> CartParams:
    return CartParams(jnp.ones((1, 1)), jnp.int32(horizon))


def reset_cart(key: Key[Array, ""], params: CartParams) -> CartState:
    return CartState(jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05), jnp.int32(0))


def move_cart(at: Float[Array, "4"], action: Int[Array, ""]) -> Float[Array, "4"]:
    x, speed, theta, turning = at
    force = jnp.where(action == 1, FORCE, -FORCE)
    cos, sin = jnp.cos(theta), jnp.sin(theta)
    push = (force + MASS_POLE * HALF_LENGTH * turning**2 * sin) / MASS_TOTAL
    turn = (GRAVITY * sin - cos * push) / (HALF_LENGTH * (4 / 3 - MASS_POLE * cos**2 / MASS_TOTAL))
    pull = push - MASS_POLE * HALF_LENGTH * turn * cos / MASS_TOTAL
    return jnp.stack([x + TAU * speed, speed + TAU * pull, theta + TAU * turning, turning + TAU * turn])


def step_cart(
    key: Key[Array, ""], state: CartState, action: Int[Array, ""], params: CartParams
) -> tuple[CartState, Step]:
    after = CartState(move_cart(state.at, action), state.t + 1)
    fallen = (jnp.abs(after.at[0]) > MAX_X) | (jnp.abs(after.at[2]) > MAX_THETA)
    obs = observe_cart(after, params)
    return after, Step(
        obs=obs,
        reward=jnp.float32(1),
        terminated=fallen,
        truncated=(after.t >= params.horizon) & ~fallen,
        group=jnp.int32(0),
        qualified=jnp.array(True),
        cost=jnp.float32(0),
        next_self_obs=obs,
    )


def observe_cart(state: CartState, params: CartParams) -> Float[Array, "5"]:
    x, speed, theta, turning = state.at
    return jnp.stack([x, jnp.ones_like(x), speed, theta, turning])


def snapshot_cart(state: CartState) -> Snapshot:
    return Snapshot(jnp.zeros(1, jnp.int32), jnp.zeros(1), jnp.zeros(1))


CART_POLE = Scenario(
    summary="Cart-pole",
    make_params=make_cart_params,
    reset=reset_cart,
    step=step_cart,
    observe=observe_cart,
    snapshot=snapshot_cart,
    omega_names=("nothing",),
    omega_bounds=(0.0, 9.0),
    action_names=("left", "right"),
)


def cart_pole(**params: int) -> Env:
    return Env("cart-pole", CART_POLE, make_cart_params(**params))
