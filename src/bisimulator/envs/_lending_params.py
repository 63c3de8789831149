"""The parameters of lending: their meaning, defaults and checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from bisimulator.core import Values
from bisimulator.envs._lending_moves import check_moves, whole_sizes
from bisimulator.envs._score_edges import check_edges
from bisimulator.errors import (
    check_array,
    check_bool,
    check_distribution,
    check_int,
    check_names,
    check_probabilities,
    check_real,
    check_shape,
)

# Inferred from the published tables: the paper shows the initial distributions only in a figure.
MAX_GROUPS, MAX_SCORES = 10_000, 10_000
INITIAL = ((0, 0, 0, 0.2, 0.3, 0.3, 0.2), (0.2, 0.2, 0.3, 0.2, 0.1, 0, 0))


class Params(eqx.Module):
    """Parameters of lending. All numbers but the population are arrays, so a sweep over them is a `vmap`."""

    initial: Float[Array, "G C"]  # p0(c | g)
    repayment: Float[Array, "G C"]  # probability of repayment at each score
    group_probs: Float[Array, "G"]
    omega: Float[Array, "G 2"]  # c_plus, c_minus of the observed score
    score_up: Int[Array, ""]  # how far a repaid loan raises the true score
    score_down: Int[Array, ""]  # how far a default lowers it
    reward_repaid: Float[Array, ""]
    reward_default: Float[Array, ""]
    horizon: Int[Array, ""]
    conscientiousness: Float[Array, "2"] | None  # mean and sd; None: repayment depends on the score only
    # of the true score after default, repayment; None: by score_down, score_up
    moves: Float[Array, "2 C C"] | None
    rejected_moves: Float[Array, "G"]  # probability that a rejected person's score moves by the table, too
    population: int = eqx.field(static=True)
    clock: bool = eqx.field(static=True, default=False)  # observations end with the share that remains
    fixed_sizes: bool = eqx.field(
        static=True, default=False
    )  # groups have exactly their shares of the people
    group_names: tuple[str, ...] = eqx.field(static=True, default=())  # for display; () if they have none
    score_edges: tuple[float, ...] = eqx.field(static=True, default=())  # if scores are bins of another score

    @property
    def num_groups(self) -> int:
        return int(self.initial.shape[0])

    @property
    def num_scores(self) -> int:
        return int(self.initial.shape[1])

    @property
    def observation_size(self) -> int:
        return self.num_groups + 3 + self.clock

    @property
    def omega_scale(self) -> float:
        return float(max(int(self.score_up), int(self.score_down), 1))

    @property
    def qualified_probs(self) -> Float[Array, "G C"]:
        return self.repayment

    @property
    def accept_rewards(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return self.reward_repaid, self.reward_default


def make_params(
    *,
    groups: int | None = None,
    c_max: int | None = None,
    initial: ArrayLike | None = None,
    repayment: ArrayLike | None = None,
    group_probs: ArrayLike | None = None,
    omega: ArrayLike | None = None,
    score_up: int = 1,
    score_down: int = 1,
    reward_repaid: float = 1.0,
    reward_default: float = -1.0,
    moves: ArrayLike | None = None,
    rejected_moves: ArrayLike = 0.0,
    conscientiousness: tuple[float, float] | None = None,
    fixed_sizes: bool = False,
    population: int = 1000,
    horizon: int = 10_000,
    clock: bool = False,
    group_names: Sequence[str] = (),
    score_edges: Sequence[float] = (),
) -> Params:
    """Check the parameters of lending.

    Args:
        groups: number of groups; only needed if no other parameter implies it.
        c_max: number of scores (the paper's C_max); only needed if no other parameter implies it.
        initial: (groups, c_max), the distribution of each group's scores at the start.
        repayment: (c_max,) or (groups, c_max), the probability of repayment at each score.
        group_probs: (groups,), the probability of each group.
        omega: (groups, 2), how far the observed score rises after a repaid loan and falls after a default; as far
            as the true score by default. With `moves`: how far for every point by which the true score moves.
        score_up: how far a repaid loan raises the true score.
        score_down: how far a default lowers the true score.
        moves: (2, c_max, c_max), the distribution of the next true score after a default and after a repaid loan,
            for every score; instead of `score_up` and `score_down`.
        rejected_moves: probability that the score of a rejected person moves as it would after a loan; one number, or
            one per group.
        reward_repaid: the bank's gain from a repaid loan.
        reward_default: the bank's (negative) gain from a default.
        conscientiousness: mean and standard deviation of k, where repayment is (P[c] + k) / 2; None: P[c].
        fixed_sizes: every group has its share of the people, rounded, instead of a random number of them.
        population: number of people.
        horizon: steps until the episode is truncated.
        clock: end every observation with the share of the episode that remains, from 1 to 0.
        group_names: names of the groups in tables and pages.
        score_edges: (c_max + 1,), the edges of the bins if scores are bins of another score.

    Raises:
        ValueError: if a value or a shape is wrong.

    Example:
        >>> make_params(groups=3, population=500, reward_default=-2.0)
    """
    table = _initial_table(initial, groups, c_max)
    groups, c_max = table.shape
    probs = check_distribution(
        "group_probs", np.full(groups, 1 / groups) if group_probs is None else group_probs
    )
    check_shape("group_probs", probs, (groups,), "one per group")
    people, fixed = check_int("population", population, min=1), check_bool("fixed_sizes", fixed_sizes)
    up = check_int("score_up", score_up, min=0)
    down = check_int("score_down", score_down, min=0)
    rejected = _per_group("rejected_moves", rejected_moves, groups)
    table_of_moves = check_moves(moves, (up, down), bool(rejected.any()), c_max)
    up, down = (up, down) if table_of_moves is None else (1, 1)
    as_float, as_int = partial(jnp.asarray, dtype=jnp.float32), partial(jnp.asarray, dtype=jnp.int32)
    return Params(
        initial=as_float(table),
        repayment=as_float(_repayment_table(repayment, groups, c_max)),
        group_probs=as_float(whole_sizes(probs, people) / people if fixed else probs),
        omega=as_float(_check_omega([(up, down)] * groups if omega is None else omega, groups)),
        score_up=as_int(up),
        score_down=as_int(down),
        reward_repaid=as_float(check_real("reward_repaid", reward_repaid)),
        reward_default=as_float(check_real("reward_default", reward_default)),
        horizon=as_int(check_int("horizon", horizon, min=1)),
        conscientiousness=None if conscientiousness is None else as_float(_check_latent(conscientiousness)),
        clock=check_bool("clock", clock),
        moves=None if table_of_moves is None else as_float(table_of_moves),
        rejected_moves=as_float(rejected),
        population=people,
        fixed_sizes=fixed,
        group_names=check_names(group_names, groups),
        score_edges=check_edges(score_edges, c_max),
    )


def split_scores(params: Params, initial: Float[Values, "G D"], edges: Sequence[float]) -> Params:
    """Divide every score into equally many parts that repay alike; moves lead to the same part of another score."""
    parts = initial.shape[1] // params.num_scores
    return dataclasses.replace(
        params,
        initial=jnp.asarray(initial, jnp.float32),
        repayment=jnp.repeat(params.repayment, parts, axis=1),
        omega=params.omega * parts,
        score_up=params.score_up * parts,
        score_down=params.score_down * parts,
        moves=None if params.moves is None else jnp.kron(params.moves, jnp.eye(parts)[None]),
        score_edges=check_edges(edges, initial.shape[1]),
    )


def with_repayment(params: Params, rates: Float[Values, "G c"]) -> Params:
    """Set repayment rates; each is that of all parts of a score that was split."""
    parts = params.num_scores // rates.shape[1]
    return dataclasses.replace(params, repayment=jnp.repeat(jnp.asarray(rates, jnp.float32), parts, axis=1))


def _per_group(name: str, value: ArrayLike, groups: int) -> Float[Values, "G"]:
    chances = check_probabilities(name, value, ndim=(0, 1))
    chances = np.full(groups, chances) if chances.ndim == 0 else chances
    check_shape(name, chances, (groups,), "one per group")
    return chances


def _repayment_table(repayment: ArrayLike | None, groups: int, c_max: int) -> Float[Values, "G C"]:
    default = np.linspace(0.3, 0.9, c_max)
    table = check_probabilities("repayment", default if repayment is None else repayment, ndim=(1, 2))
    if table.ndim == 1:
        check_shape("repayment", table, (c_max,), "one per score")
        table = np.tile(table, (groups, 1))
    check_shape("repayment", table, (groups, c_max), "groups x scores")
    return table


def _check_omega(omega: ArrayLike, groups: int) -> Float[Values, "G 2"]:
    moves = check_array("omega", omega, ndim=(2,))
    check_shape("omega", moves, (groups, 2), "c_plus and c_minus per group")
    if (moves < 0).any():
        raise ValueError(f"omega must not be negative, got {moves.min():g}; c_minus already counts downwards")
    return moves


def _check_latent(conscientiousness: ArrayLike) -> Float[Values, "2"]:
    k = check_array(
        "conscientiousness", conscientiousness, ndim=(1,), hint="pass (mean, sd), such as (0.55, 0.1)"
    )
    check_shape("conscientiousness", k, (2,), "mean and standard deviation")
    check_real("the standard deviation of conscientiousness", k[1], min=0)
    return k


def _initial_table(initial: ArrayLike | None, groups: int | None, c_max: int | None) -> Float[Values, "G C"]:
    if groups is not None:
        groups = check_int("groups", groups, min=1, max=MAX_GROUPS)
    if c_max is not None:
        c_max = check_int("c_max", c_max, min=1, max=MAX_SCORES)
    if initial is not None:
        table = check_distribution("initial", initial, ndim=(2,))
        expected = (groups or table.shape[0], c_max or table.shape[1])
        check_shape("initial", table, expected, "groups x scores; leave groups and c_max out to infer them")
        return table
    if groups in (None, 2) and c_max in (None, 7):
        return np.asarray(INITIAL, dtype=np.float64)
    return spread_groups(groups or 2, c_max or 7)


def spread_groups(groups: int, c_max: int) -> Float[Values, "G C"]:
    """Groups of evenly decreasing advantage: discretised normals, means 5.0 to 1.75 and sd 1.375 on 0..6.

    The paper gives no distributions for its 10 groups; these come closest to its table.
    """
    scale = (c_max - 1) / 6 if c_max > 1 else 1.0
    means = np.linspace(5.0, 1.75, groups)[:, None] * scale
    density = np.exp(-0.5 * ((np.arange(c_max) - means) / (1.375 * scale)) ** 2)
    distributions: Values = density / density.sum(-1, keepdims=True)
    return distributions
