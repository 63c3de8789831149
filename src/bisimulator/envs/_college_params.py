"""The parameters of college: their meaning, defaults and checks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import ArrayLike

from bisimulator.core import Values
from bisimulator.envs._per_group import count_groups, per_group
from bisimulator.envs._score_edges import check_edges
from bisimulator.errors import (
    check_array,
    check_distribution,
    check_int,
    check_names,
    check_probabilities,
    check_real,
    check_shape,
)

MAX_SCORES = 10_000


class Params(eqx.Module):
    """Parameters of college. All numbers but the population are arrays, so a sweep over them is a `vmap`."""

    score_mean: Float[Array, "G"]
    score_sd: Float[Array, "G"]
    budget_mean: Float[Array, "G"]
    budget_sd: Float[Array, "G"]
    budget_max: Float[Array, ""]
    success: Float[Array, "G C"]  # probability of success at each true score
    group_probs: Float[Array, "G"]
    omega: Float[Array, "G 1"]  # cost of a point
    epsilon: Float[Array, ""]
    rewards: Float[Array, "3"]  # admitted and succeeds, admitted and fails, rejected but would succeed
    horizon: Int[Array, ""]
    initial: Float[Array, "G C"] | None  # distribution of true scores; None: normal
    population: int = eqx.field(static=True)
    group_names: tuple[str, ...] = eqx.field(static=True, default=())  # for display; () if they have none
    score_edges: tuple[float, ...] = eqx.field(static=True, default=())  # if scores are bins of another score

    @property
    def omega_scale(self) -> float:
        return 1.0

    @property
    def num_groups(self) -> int:
        return int(self.group_probs.shape[0])

    @property
    def num_scores(self) -> int:
        return int(self.success.shape[1])

    @property
    def observation_size(self) -> int:
        return self.num_groups + 1

    @property
    def qualified_probs(self) -> Float[Array, "G C"]:
        return self.success

    @property
    def accept_rewards(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return self.rewards[0], self.rewards[1]


def make_params(
    *,
    score_mean: ArrayLike | None = None,
    score_sd: ArrayLike = 1.0,
    budget_mean: ArrayLike | None = None,
    budget_sd: ArrayLike = 1.0,
    budget_max: float = 5.0,
    groups: int | None = None,
    c_max: int = 10,
    initial: ArrayLike | None = None,
    success: ArrayLike | None = None,
    group_probs: ArrayLike | None = None,
    omega: ArrayLike | None = None,
    epsilon: float = 0.5,
    rewards: ArrayLike = (1.0, -1.0, 0.0),
    population: int = 1000,
    horizon: int = 1000,
    group_names: Sequence[str] = (),
    score_edges: Sequence[float] = (),
) -> Params:
    """Check the parameters of college.

    Args:
        score_mean: (groups,), means of the normal distributions of true scores.
        score_sd: (groups,) or one number, their standard deviations.
        budget_mean: (groups,), means of the normal distributions of budgets.
        budget_sd: (groups,) or one number, their standard deviations.
        budget_max: budgets are clipped to [0, budget_max].
        groups: number of groups; only needed if no other parameter implies it. Means are then spaced evenly.
        c_max: number of scores (the paper's C_max).
        initial: (groups, c_max), the distribution of each group's true scores; instead of `score_mean` and `score_sd`.
        success: (c_max,) or (groups, c_max), the probability of success at each true score.
        group_probs: (groups,), the probability of each group.
        omega: (groups,) or (groups, 1), the cost of a point.
        epsilon: probability of each further point.
        rewards: (3,), admitted and succeeds, admitted and fails, rejected but would have succeeded.
        population: number of people.
        horizon: steps until the episode is truncated.
        group_names: names of the groups in tables and pages.
        score_edges: (c_max + 1,), the edges of the bins if scores are bins of another score.

    Raises:
        ValueError: if a value or a shape is wrong.

    Example:
        >>> make_params(epsilon=0.8, omega=(1.0, 0.5))
    """
    count = count_groups(
        groups, score_mean=score_mean, budget_mean=budget_mean, group_probs=group_probs, initial=initial
    )
    probs = check_distribution(
        "group_probs", np.full(count, 1 / count) if group_probs is None else group_probs
    )
    check_shape("group_probs", probs, (count,), "one per group")
    check_int("c_max", c_max, min=1, max=MAX_SCORES)
    chance = _success_table(np.linspace(0, 0.9, c_max) if success is None else success, count, c_max)
    pay = check_array("rewards", rewards, ndim=(1,))
    check_shape("rewards", pay, (3,), "admitted and succeeds, admitted and fails, rejected but would succeed")
    as_float, as_int = partial(jnp.asarray, dtype=jnp.float32), partial(jnp.asarray, dtype=jnp.int32)
    return Params(
        score_mean=as_float(
            per_group("score_mean", np.linspace(8, 5, count) if score_mean is None else score_mean, count)
        ),
        score_sd=as_float(per_group("score_sd", score_sd, count, negative=False)),
        budget_mean=as_float(
            per_group("budget_mean", np.linspace(4, 2, count) if budget_mean is None else budget_mean, count)
        ),
        budget_sd=as_float(per_group("budget_sd", budget_sd, count, negative=False)),
        budget_max=as_float(check_real("budget_max", budget_max, min=0)),
        success=as_float(chance),
        group_probs=as_float(probs),
        omega=as_float(_check_cost(np.ones(count) if omega is None else omega, count)),
        epsilon=as_float(check_real("epsilon", epsilon, min=0, max=1)),
        rewards=as_float(pay),
        horizon=as_int(check_int("horizon", horizon, min=1)),
        initial=None if initial is None else as_float(_initial_table(initial, count, c_max)),
        population=check_int("population", population, min=1),
        group_names=check_names(group_names, count),
        score_edges=check_edges(score_edges, c_max),
    )


def _success_table(success: ArrayLike, groups: int, c_max: int) -> Float[Values, "G C"]:
    table = check_probabilities("success", success, ndim=(1, 2))
    if table.ndim == 1:
        check_shape("success", table, (c_max,), "one per score; set c_max to their number")
        table = np.tile(table, (groups, 1))
    check_shape("success", table, (groups, c_max), "groups x scores; set c_max to the number of scores")
    return table


def _initial_table(initial: ArrayLike, groups: int, c_max: int) -> Float[Values, "G C"]:
    table = check_distribution("initial", initial, ndim=(2,))
    check_shape("initial", table, (groups, c_max), "groups x scores; set c_max to the number of scores")
    return table


def _check_cost(omega: ArrayLike, groups: int) -> Float[Values, "G 1"]:
    cost = check_array("omega", omega, ndim=(1, 2))
    cost = cost.reshape(-1, 1) if cost.ndim == 1 else cost
    check_shape("omega", cost, (groups, 1), "the cost of a point per group")
    if (cost.astype(np.float32) <= 0).any():  # which is 0 for numbers that single precision does not have
        raise ValueError(f"omega must be positive, got {cost.min():g}; a point must cost something")
    return cost
