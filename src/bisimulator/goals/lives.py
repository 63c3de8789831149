"""Rates of a policy from few lives: what does not depend on the policy explains most of the difference between samples.

How a life goes depends on the person's first observation and on luck: whether somebody with these observations turns
out to be qualified. The policy changes the distribution of neither. The first is known from many people, and luck is 0
on average. The lives of the newest decisions are a small sample, whose moments are corrected by how far both are
from what is usual: a regression estimator whose control variates are random features of first observations, and sums of
luck. It has no delay, and no bias with fixed coefficients.
"""

from __future__ import annotations

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.goals.moments import M

FEATURES = 16  # P, the last of which is constant
_STEEPNESS = 12.0  # of the features: observations lie in 0..1
_WEIGHTS = 4  # L: luck is weighted with this many of the features, because when it matters depends on the observation
_RIDGE = 1e-3  # of the rows; and 1: the regression of a group that was hardly seen corrects nothing
_BLOCK = 64  # lives that are added at once: most decisions end none


class LifeState(eqx.Module):
    """What is known of lives: those that go on (E), and sums over those that ended. V = 2 L + P covariates."""

    weights: Float[Array, "D P-1"]
    offsets: Float[Array, "P-1"]
    starting: Bool[Array, "E"]  # whether the next decision is the first of a life
    so_far: Float[Array, "E 2L+M"]  # luck and moments of the current lives
    start: Float[Array, "E P"]  # features of the first observation
    all_starts: Float[Array, "G P"]  # of everybody who is known
    squares: Float[Array, "G V V"]  # of the lives in the window
    products: Float[Array, "G V M"]
    recent_covariates: Float[Array, "G V"]  # of the newest lives
    recent: Float[Array, "G M"]
    outcome_squares: Float[Array, "2G P P"]  # of all decisions, by group and acceptance
    outcome_products: Float[Array, "2G P"]

    def with_starts(self, obs: Float[Array, "N D"], group: Int[Array, "N"]) -> LifeState:
        """Knowing also how the lives of these people begin."""
        of_group = jax.nn.one_hot(group, len(self.all_starts), axis=0)
        starts = of_group @ _features(self.weights, self.offsets, obs)
        return dataclasses.replace(self, all_starts=self.all_starts + starts)


class _Ended(eqx.Module):
    """Every decision as if it ended its life, and which of them did."""

    ends: Bool[Array, "N"]
    group: Int[Array, "N"]
    life: Float[Array, "N 2L+M"]  # luck and moments
    began: Int[Array, "N"]  # row of `starts`
    starts: Float[Array, "N+E P"]


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
        begins = jnp.concatenate([state.starting[None], ended[:-1]])

        def decide(so_far: Float[Array, "E 2L+M"], decision: tuple[Array, Array]) -> tuple[Array, Array]:
            """What the current lives have counted, with this decision."""
            counts, begins = decision
            so_far = jnp.where(begins[:, None], 0.0, so_far) + counts
            return so_far, so_far

        so_far, of_life = jax.lax.scan(decide, state.so_far, (counted, begins))
        num_steps, num_envs = group.shape
        step, env = jnp.arange(num_steps)[:, None], jnp.arange(num_envs)[None]
        first = jax.lax.cummax(jnp.where(begins, step, -1))  # first steps of lives; -1: before these
        began = jnp.where(first < 0, num_steps, first) * num_envs + env
        starts = jnp.concatenate([_rows(features), state.start])
        lives = _Ended(terminated.reshape(-1), group.reshape(-1), _rows(of_life), began.reshape(-1), starts)
        state = dataclasses.replace(state, starting=ended[-1], so_far=so_far, start=starts[began[-1]])
        return self._add(state, lives)

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
        rows, member = _rows(features), jax.nn.one_hot(cell.reshape(-1), 2 * len(state.all_starts))
        squares = _by_member(member, rows, rows)
        products = (member * qualified.reshape(-1, 1)).T @ rows
        return luck, dataclasses.replace(
            state,
            outcome_squares=state.outcome_squares + squares,
            outcome_products=state.outcome_products + products,
        )

    def _add(self, state: LifeState, lives: _Ended) -> LifeState:
        """Add the lives that ended to the sums of their groups."""
        count, number = lives.ends.size, lives.ends.sum()
        window, recent = (math.exp(-count / decisions) for decisions in (self.window, self.recent))
        state = dataclasses.replace(
            state,
            squares=window * state.squares,
            products=window * state.products,
            recent_covariates=recent * state.recent_covariates,
            recent=recent * state.recent,
        )
        place = jnp.where(lives.ends, jnp.cumsum(lives.ends) - 1, count + _BLOCK)
        ended = jnp.zeros(count + _BLOCK, jnp.int32).at[place].set(jnp.arange(count), mode="drop")

        def add(carry: tuple[Int[Array, ""], LifeState]) -> tuple[Int[Array, ""], LifeState]:
            """Add the next lives."""
            done, state = carry
            chosen = jax.lax.dynamic_slice(ended, (done,), (_BLOCK,))
            luck, life = jnp.split(lives.life[chosen], [2 * _WEIGHTS], -1)
            start = lives.starts[lives.began[chosen]]
            covariates = jnp.concatenate([luck, start], -1)
            member = jax.nn.one_hot(lives.group[chosen], len(state.all_starts))
            member *= (done + jnp.arange(_BLOCK) < number)[:, None]
            return done + _BLOCK, dataclasses.replace(
                state,
                all_starts=state.all_starts + member.T @ start,
                squares=state.squares + _by_member(member, covariates, covariates),
                products=state.products + _by_member(member, covariates, life),
                recent_covariates=state.recent_covariates + member.T @ covariates,
                recent=state.recent + member.T @ life,
            )

        return jax.lax.while_loop(lambda carry: carry[0] < number, add, (jnp.int32(0), state))[1]

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


def _by_member(
    member: Float[Array, "N G"], a: Float[Array, "N P"], b: Float[Array, "N Q"]
) -> Float[Array, "G P Q"]:
    """The sums of a b' over each group's rows, as one product."""
    of_group = (member[:, :, None] * b[:, None]).reshape(len(b), -1)
    return (a.T @ of_group).reshape(a.shape[-1], -1, b.shape[-1]).swapaxes(0, 1)


def _solve(squares: Float[Array, "G P P"], target: Float[Array, "G P"]) -> Float[Array, "G P"]:
    """(squares + ridge) x = target."""
    ridge = 1 + _RIDGE * squares[:, -1:, -1:]  # the constant feature's square: the number of rows
    factor = jnp.linalg.cholesky(squares + ridge * jnp.eye(squares.shape[-1])[None])
    solved: Float[Array, "G P 1"] = jax.scipy.linalg.cho_solve((factor, True), target[..., None])
    return solved[..., 0]
