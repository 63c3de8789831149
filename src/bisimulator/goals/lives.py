"""Rates of a policy from few lives: what does not depend on the policy explains most of the difference between samples.

How a life goes depends on the person's first observation and on luck: whether somebody with these observations turns
out to be qualified. The policy changes the distribution of neither. The first is known from all lives so far, and luck
is 0 on average. The lives of the newest decisions are a small sample, whose moments are corrected by how far both are
from what is usual: a regression estimator whose control variates are random features of first observations, and sums of
luck. It has no delay, and no bias with fixed coefficients.
"""

from __future__ import annotations

import dataclasses
import math
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.goals.moments import M

FEATURES = 16  # P, the last of which is constant
_STEEPNESS = 12.0  # of the features: observations lie in 0..1
_WEIGHTS = 4  # L: luck is weighted with this many of the features, because when it matters depends on the observation
_RIDGE = 1e-3  # of the rows; and 1: the regression of a group that was hardly seen corrects nothing


class LifeState(eqx.Module):
    """What is known of lives: those that go on (E), and sums over those that ended. V = 2 L + P covariates."""

    weights: Float[Array, "D P-1"]
    offsets: Float[Array, "P-1"]
    starting: Bool[Array, "E"]  # whether the next decision is the first of a life
    so_far: Float[Array, "E 2L+M"]  # luck and moments
    start: Float[Array, "E P"]  # features of the first observation
    all_starts: Float[Array, "G P"]  # of all lives
    squares: Float[Array, "G V V"]  # of the lives in the window
    products: Float[Array, "G V M"]
    recent_covariates: Float[Array, "G V"]  # of the newest lives
    recent: Float[Array, "G M"]
    outcome_squares: Float[Array, "2G P P"]  # of all decisions, by group and acceptance
    outcome_products: Float[Array, "2G P"]


_Lives: TypeAlias = tuple[Bool[Array, "E"], Float[Array, "E 2L+M"], Float[Array, "E P"]]


@dataclasses.dataclass(frozen=True)
class LifeMeasure:
    """Moments of the newest lives, corrected by their first observations and their luck."""

    window: float  # decisions over which the coefficients are fitted
    recent: float  # decisions over which moments are measured

    def init(
        self,
        key: Key[Array, ""],
        centres: Float[Array, "P-1 D"],
        *,
        num_envs: int,
        num_groups: int,
        group_entries: int,
        num_moments: int,
    ) -> LifeState:
        """`centres` are first observations, at each of which one of the features changes."""
        weights = jax.random.normal(key, centres.T.shape) * _STEEPNESS
        weights = weights.at[1 : 1 + group_entries].set(0.0)  # every group has its own regression
        offsets = -(centres.T * weights).sum(0)
        covariates, zeros = 2 * _WEIGHTS + FEATURES, jnp.zeros
        return LifeState(
            weights,
            offsets,
            jnp.ones(num_envs, bool),
            zeros((num_envs, 2 * _WEIGHTS + num_moments)),
            zeros((num_envs, FEATURES)),
            zeros((num_groups, FEATURES)),
            zeros((num_groups, covariates, covariates)),
            zeros((num_groups, covariates, num_moments)),
            zeros((num_groups, covariates)),
            zeros((num_groups, num_moments)),
            zeros((2 * num_groups, FEATURES, FEATURES)),
            zeros((2 * num_groups, FEATURES)),
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
        features = _features(state.weights, state.offsets, obs)
        luck, state = self._luck(state, features, moments, group)
        counted = jnp.concatenate([luck, moments], -1)
        ended = terminated | truncated

        def decide(carry: _Lives, decision: tuple[Array, Array, Array]) -> tuple[_Lives, tuple[Array, Array]]:
            """Of the current lives, with this decision: what they have counted, and how they began."""
            starting, so_far, start = carry
            counts, features, ends = decision
            so_far = jnp.where(starting[:, None], 0.0, so_far) + counts
            start = jnp.where(starting[:, None], features, start)
            return (ends, so_far, start), (so_far, start)

        lives = (state.starting, state.so_far, state.start)
        (starting, so_far, start), (of_life, starts) = jax.lax.scan(decide, lives, (counted, features, ended))
        state = dataclasses.replace(state, starting=starting, so_far=so_far, start=start)
        return self._add(state, of_life, starts, group, terminated)

    def _luck(
        self,
        state: LifeState,
        features: Float[Array, "T E P"],
        moments: Float[Array, "T E M"],
        group: Int[Array, "T E"],
    ) -> tuple[Float[Array, "T E 2L"], LifeState]:
        """How much more qualified people are than their observations tell, of those rejected and of those accepted."""
        accepted, qualified = moments[..., M.APPROVED] > 0, moments[..., M.QUALIFIED]
        cell = 2 * group + accepted
        coefficients = _solve(state.outcome_squares, state.outcome_products)
        surprise = qualified - (coefficients[cell] * features).sum(-1)
        weighted = surprise[..., None] * features[..., -_WEIGHTS:]
        luck = jnp.concatenate([jnp.where(accepted[..., None] == a, weighted, 0.0) for a in (0, 1)], -1)
        rows, member = _rows(features), _members(cell, 2 * len(state.all_starts))
        squares = jnp.einsum("nk,np,nq->kpq", member, rows, rows)
        products = (member * qualified.reshape(-1, 1)).T @ rows
        return luck, dataclasses.replace(
            state,
            outcome_squares=state.outcome_squares + squares,
            outcome_products=state.outcome_products + products,
        )

    def _add(
        self,
        state: LifeState,
        of_life: Float[Array, "T E 2L+M"],
        start: Float[Array, "T E P"],
        group: Int[Array, "T E"],
        terminated: Bool[Array, "T E"],
    ) -> LifeState:
        """Add the lives that ended to the sums of their groups."""
        luck, life = jnp.split(_rows(of_life), [2 * _WEIGHTS], -1)
        covariates = jnp.concatenate([luck, _rows(start)], -1)
        member = _members(group, len(state.all_starts)) * terminated.reshape(-1, 1)
        window, recent = (math.exp(-group.size / decisions) for decisions in (self.window, self.recent))
        squares = jnp.einsum("ng,np,nq->gpq", member, covariates, covariates)
        products = jnp.einsum("ng,np,nm->gpm", member, covariates, life)
        return dataclasses.replace(
            state,
            all_starts=state.all_starts + member.T @ _rows(start),
            squares=window * state.squares + squares,
            products=window * state.products + products,
            recent_covariates=recent * state.recent_covariates + member.T @ covariates,
            recent=recent * state.recent + member.T @ life,
        )

    def moments(self, state: LifeState) -> Float[Array, "G M"]:
        """Of the newest lives, corrected."""
        lives, all_lives = state.recent_covariates[:, -1:], state.all_starts[:, -1:]
        usual = state.all_starts / jnp.maximum(all_lives, 1.0) * lives
        unusual = state.recent_covariates - jnp.pad(usual, ((0, 0), (2 * _WEIGHTS, 0)))
        direction = _solve(state.squares, unusual)
        return state.recent - jnp.einsum("gp,gpm->gm", direction, state.products)


def _features(
    weights: Float[Array, "D P-1"], offsets: Float[Array, "P-1"], obs: Float[Array, "*B D"]
) -> Float[Array, "*B P"]:
    steep = obs @ weights
    return jnp.concatenate(
        [jnp.tanh(steep + jnp.broadcast_to(offsets, steep.shape)), jnp.ones((*obs.shape[:-1], 1))], -1
    )


def _rows(x: Float[Array, "T E N"]) -> Float[Array, "T*E N"]:
    return x.reshape(-1, x.shape[-1])


def _members(group: Int[Array, "T E"], number: int) -> Float[Array, "T*E G"]:
    return jax.nn.one_hot(group.reshape(-1), number)


def _solve(squares: Float[Array, "G P P"], target: Float[Array, "G P"]) -> Float[Array, "G P"]:
    """(squares + ridge) x = target by elimination: few unknowns, and no call of LAPACK in a compiled loop."""
    size = squares.shape[-1]
    ridge = 1 + _RIDGE * squares[:, -1:, -1:]  # the constant feature's square: the number of rows
    system = jnp.concatenate([squares + ridge * jnp.eye(size)[None], target[..., None]], -1)

    def eliminate(k: int, system: Float[Array, "G P P+1"]) -> Float[Array, "G P P+1"]:
        row = system[:, k] / system[:, k, k, None]
        return (system - system[:, :, k, None] * row[:, None]).at[:, k].set(row)

    solved: Float[Array, "G P P+1"] = jax.lax.fori_loop(0, size, eliminate, system)
    return solved[..., -1]
