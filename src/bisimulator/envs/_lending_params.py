"""The parameters of lending: what they mean, and what is checked about them."""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bisimulator.errors import (
    check_array,
    check_distribution,
    check_int,
    check_probabilities,
    check_real,
    check_shape,
)

# Inferred from the published tables: the paper shows the initial distributions only as a picture.
INITIAL = ((0, 0, 0, 0.2, 0.3, 0.3, 0.2), (0.2, 0.2, 0.3, 0.2, 0.1, 0, 0))


class Params(eqx.Module):
    """All arrays but the population, so that a sweep over them is a `vmap`."""

    initial: Float[Array, "G C"]  # p0(c | g)
    repayment: Float[Array, "G C"]  # probability of repayment at each score
    group_probs: Float[Array, "G"]
    omega: Float[Array, "G 2"]  # c_plus, c_minus of the observed score
    score_up: Int[Array, ""]  # how far the true score rises when a loan is repaid
    score_down: Int[Array, ""]
    reward_repaid: Float[Array, ""]
    reward_default: Float[Array, ""]
    horizon: Int[Array, ""]
    conscientiousness: Float[Array, "2"] | None  # mean and sd, or None: credit only
    population: int = eqx.field(static=True)
    group_names: tuple[str, ...] = eqx.field(static=True, default=())  # for display; () where there are none
    score_edges: tuple[float, ...] = eqx.field(static=True, default=())  # of the bins that scores stand for

    @property
    def num_groups(self) -> int:
        return int(self.initial.shape[0])

    @property
    def num_scores(self) -> int:
        return int(self.initial.shape[1])

    @property
    def observation_size(self) -> int:
        return self.num_groups + 3

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
    initial: Any = None,
    repayment: Any = None,
    group_probs: Any = None,
    omega: Any = None,
    score_up: int = 1,
    score_down: int = 1,
    reward_repaid: float = 1.0,
    reward_default: float = -1.0,
    conscientiousness: tuple[float, float] | None = None,
    population: int = 1000,
    horizon: int = 10_000,
    group_names: Any = (),
    score_edges: Any = (),
) -> Params:
    """Checked parameters.

    Args:
      groups: number of groups; needed only where nothing else says it.
      c_max: number of scores (the paper's C_max).
      initial: (groups, c_max), each group's distribution of scores at the start.
      repayment: probability of repayment at each score, (c_max,) or (groups, c_max).
      group_probs: probability of each group, (groups,).
      omega: (groups, 2), by how much the observed score moves when a loan is repaid / defaulted; as the true one
        by default.
      score_up, score_down: by how much the true score moves.
      reward_repaid, reward_default: the bank's gain and (negative) loss.
      conscientiousness: mean and standard deviation of k, with repayment (P[c] + k) / 2; None: credit only.
      population, horizon: people, and steps until the episode is truncated.
      group_names: what to call the groups in tables and pages.
      score_edges: (c_max + 1,), where scores are bins of another score: their edges on its scale.
    """
    table = _initial_table(initial, groups, c_max)
    groups, c_max = table.shape
    probs = check_distribution(
        "group_probs", np.full(groups, 1 / groups) if group_probs is None else group_probs
    )
    check_shape("group_probs", probs, (groups,), "one a group")
    up = check_int("score_up", score_up, min=0, max=2**31 - 2)
    down = check_int("score_down", score_down, min=0, max=2**31 - 2)
    as_float, as_int = partial(jnp.asarray, dtype=jnp.float32), partial(jnp.asarray, dtype=jnp.int32)
    return Params(
        initial=as_float(table),
        repayment=as_float(_repayment_table(repayment, groups, c_max)),
        group_probs=as_float(probs),
        omega=as_float(_check_omega([(up, down)] * groups if omega is None else omega, groups)),
        score_up=as_int(up),
        score_down=as_int(down),
        reward_repaid=as_float(check_real("reward_repaid", reward_repaid)),
        reward_default=as_float(check_real("reward_default", reward_default)),
        horizon=as_int(check_int("horizon", horizon, min=1, max=2**31 - 2)),
        conscientiousness=None if conscientiousness is None else as_float(_check_latent(conscientiousness)),
        population=check_int("population", population, min=1, max=2**31 - 2),
        group_names=_check_names(group_names, groups),
        score_edges=_check_edges(score_edges, c_max),
    )


def _repayment_table(repayment: Any, groups: int, c_max: int) -> np.ndarray:
    default = np.linspace(0.3, 0.9, c_max)
    table = check_probabilities("repayment", default if repayment is None else repayment, ndim=(1, 2))
    if table.ndim == 1:
        check_shape("repayment", table, (c_max,), "one a score")
        table = np.tile(table, (groups, 1))
    check_shape("repayment", table, (groups, c_max), "groups x scores")
    return table


def _check_omega(omega: Any, groups: int) -> np.ndarray:
    moves = check_array("omega", omega, ndim=(2,))
    check_shape("omega", moves, (groups, 2), "c_plus and c_minus for each group")
    if (moves < 0).any():
        raise ValueError(f"omega must not be negative, got {moves.min():g}; c_minus counts downwards already")
    return moves


def _check_latent(conscientiousness: Any) -> np.ndarray:
    k = check_array("conscientiousness", conscientiousness, ndim=(1,), hint="pass (mean, sd)")
    check_shape("conscientiousness", k, (2,), "mean and standard deviation")
    check_real("conscientiousness's standard deviation", k[1], min=0)
    return k


def _check_names(names: Any, groups: int) -> tuple[str, ...]:
    known = tuple(names)
    if known and (len(known) != groups or not all(isinstance(name, str) for name in known)):
        raise ValueError(f"group_names must be {groups} names, one a group, got {names!r}")
    if len(set(known)) < len(known):
        raise ValueError(f"group_names must differ, got {names!r}; tables could not tell them apart")
    return known


def _check_edges(edges: Any, c_max: int) -> tuple[float, ...]:
    if len(edges) == 0:
        return ()
    known = check_array("score_edges", edges, ndim=(1,))
    check_shape("score_edges", known, (c_max + 1,), "one more than scores")
    if (np.diff(known) < 0).any():
        raise ValueError(f"score_edges must rise, got {known.tolist()}; sort them")
    return tuple(known.tolist())


def _initial_table(initial: Any, groups: int | None, c_max: int | None) -> np.ndarray:
    if groups is not None:
        check_int("groups", groups, min=1)
    if c_max is not None:
        check_int("c_max", c_max, min=1)
    if initial is not None:
        table = check_distribution("initial", initial, ndim=(2,))
        wanted = (groups or table.shape[0], c_max or table.shape[1])
        check_shape("initial", table, wanted, "groups x scores; leave groups and c_max out to follow it")
        return table
    if groups in (None, 2) and c_max in (None, 7):
        return np.asarray(INITIAL, dtype=np.float64)
    return spread_groups(groups or 2, c_max or 7)


def spread_groups(groups: int, c_max: int) -> np.ndarray:
    """Groups of evenly falling advantage: discretised normals, means 5.0 to 1.75 and sd 1.375 on 0..6.

    The paper gives no distributions for its 10 groups; these come closest to its table.
    """
    scale = (c_max - 1) / 6 if c_max > 1 else 1.0
    means = np.linspace(5.0, 1.75, groups)[:, None] * scale
    density = np.exp(-0.5 * ((np.arange(c_max) - means) / (1.375 * scale)) ** 2)
    return density / density.sum(-1, keepdims=True)
