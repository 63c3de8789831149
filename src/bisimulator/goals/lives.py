"""Rates of a policy from few lives: what people start with explains most of the difference between two samples.

How a life goes depends on the person's first observation, and the distribution of first observations does not depend on
the policy. It is known from all lives so far. The lives of the newest decisions are a small sample, whose moments are
corrected by how far its first observations are from that distribution: a regression estimator with the control
variates phi(first observation), random features. It has no delay, and no bias with fixed coefficients.
"""

from __future__ import annotations

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

_FEATURES = 16  # P
_STEEPNESS = 12.0  # of the features: observations lie in 0..1
_LARGE = 20.0  # its tanh is 1
_RIDGE = 1e-3  # of the lives; and 1: the regression of a group that was hardly seen corrects nothing


class LifeState(eqx.Module):
    """What is known of lives: those that go on (E), and sums over those that ended."""

    weights: Float[Array, "D P"]
    offsets: Float[Array, "P"]
    starting: Bool[Array, "E"]  # whether the next decision is the first of a life
    so_far: Float[Array, "E M"]
    start: Float[Array, "E P"]  # features of the first observation
    all_starts: Float[Array, "G P"]  # of all lives
    squares: Float[Array, "G P P"]  # of the lives in the window
    products: Float[Array, "G P M"]
    recent_starts: Float[Array, "G P"]  # of the newest lives
    recent: Float[Array, "G M"]


@dataclasses.dataclass(frozen=True)
class LifeMeasure:
    """Moments of the newest lives, corrected by their first observations."""

    window: float  # decisions over which the coefficients are fitted
    recent: float  # decisions over which moments are measured

    def init(
        self, key: Key[Array, ""], *, num_envs: int, num_groups: int, observation_size: int, num_moments: int
    ) -> LifeState:
        k_weights, k_centres = jax.random.split(key)
        size = (observation_size, _FEATURES - 1)
        steep = jax.random.normal(k_weights, size) * _STEEPNESS
        offsets = -(steep * jax.random.uniform(k_centres, size)).sum(0)
        weights = jnp.pad(steep, ((0, 0), (0, 1)))  # the last feature is constant
        offsets = jnp.pad(offsets, (0, 1), constant_values=_LARGE)
        zeros = jnp.zeros
        return LifeState(
            weights,
            offsets,
            jnp.ones(num_envs, bool),
            zeros((num_envs, num_moments)),
            zeros((num_envs, _FEATURES)),
            zeros((num_groups, _FEATURES)),
            zeros((num_groups, _FEATURES, _FEATURES)),
            zeros((num_groups, _FEATURES, num_moments)),
            zeros((num_groups, _FEATURES)),
            zeros((num_groups, num_moments)),
        )

    def measure(
        self,
        state: LifeState,
        obs: Float[Array, "T E D"],
        moments: Float[Array, "T E M"],
        group: Int[Array, "T E"],
        terminated: Bool[Array, "T E"],
        truncated: Bool[Array, "T E"],
    ) -> LifeState:
        """Add decisions of the current policy, in the order in which they were made."""
        ended = terminated | truncated
        starting = jnp.concatenate([state.starting[None], ended[:-1]])
        time = jnp.arange(len(ended))[:, None]
        began = jax.lax.cummax(jnp.where(starting, time, -1))[..., None]  # -1: before these decisions
        features = jnp.tanh(obs @ state.weights + state.offsets[None, None])
        sums = moments.cumsum(0)
        before = jnp.concatenate([-state.so_far[None], sums - moments])
        of_life = sums - jnp.take_along_axis(before, began + 1, axis=0)
        start = jnp.concatenate([state.start[None], features])
        start = jnp.take_along_axis(start, began + 1, axis=0)
        number = group.size
        whole = terminated.reshape(-1)[:, None]
        life = jnp.where(whole, of_life.reshape(number, -1), 0.0)
        first = jnp.where(whole, start.reshape(number, -1), 0.0)
        of_group = group.reshape(-1)

        def add(old: Array, new: Array, memory: float = 1.0) -> Array:
            return memory * old + jnp.zeros_like(old).at[of_group].add(new)

        window, recent = (math.exp(-number / decisions) for decisions in (self.window, self.recent))
        return LifeState(
            state.weights,
            state.offsets,
            ended[-1],
            jnp.where(ended[-1][:, None], 0.0, of_life[-1]),
            start[-1],
            add(state.all_starts, first),
            add(state.squares, first[:, :, None] * first[:, None, :], window),
            add(state.products, first[:, :, None] * life[:, None, :], window),
            add(state.recent_starts, first, recent),
            add(state.recent, life, recent),
        )

    def moments(self, state: LifeState) -> Float[Array, "G M"]:
        """Of the newest lives, corrected."""
        lives, all_lives = state.recent_starts[:, -1:], state.all_starts[:, -1:]
        usual = state.all_starts / jnp.maximum(all_lives, 1.0) * lives
        unusual = state.recent_starts - usual  # (G, P)
        direction = _solve(state.squares, unusual)
        return state.recent - jnp.einsum("gp,gpm->gm", direction, state.products)


def _solve(squares: Float[Array, "G P P"], target: Float[Array, "G P"]) -> Float[Array, "G P"]:
    """(squares + ridge) x = target by elimination: few unknowns, and no call of LAPACK in a compiled loop."""
    ridge = 1 + _RIDGE * squares[:, -1:, -1:]  # the constant feature's square: the number of lives
    system = jnp.concatenate([squares + ridge * jnp.eye(_FEATURES)[None], target[..., None]], -1)

    def eliminate(k: int, system: Float[Array, "G P P+1"]) -> Float[Array, "G P P+1"]:
        row = system[:, k] / system[:, k, k, None]
        return (system - system[:, :, k, None] * row[:, None]).at[:, k].set(row)

    solved: Float[Array, "G P P+1"] = jax.lax.fori_loop(0, _FEATURES, eliminate, system)
    return solved[..., -1]
