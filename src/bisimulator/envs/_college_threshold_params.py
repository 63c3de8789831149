"""The parameters of college-threshold: their meaning, defaults and checks."""

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
from bisimulator.envs._without_applicants import WithoutApplicants, no_omega
from bisimulator.errors import (
    check_array,
    check_distribution,
    check_int,
    check_names,
    check_real,
    check_shape,
)

MAX_APPLICANTS = 100_000


class Params(WithoutApplicants, eqx.Module):
    """Parameters of college-threshold. All numbers but that of the applicants are arrays."""

    score_mean: Float[Array, "G"]
    score_sd: Float[Array, "G"]
    group_probs: Float[Array, "G"]
    costs: Float[Array, "G"]  # of raising a score by 1
    eligible_from: Float[Array, "G"]  # the score from which somebody is eligible
    benefit: Float[Array, ""]  # what admission is worth to an applicant
    max_raise: Float[Array, ""]  # the most that anybody can raise a score
    epsilon: Float[Array, ""]  # probability of being admitted whatever the score is
    score_noise: Float[Array, ""] | None  # None: applicants present their true scores
    threshold_noise: Float[Array, ""] | None  # None: applicants know the threshold
    noise_max: Float[Array, ""]
    rewards: Float[Array, "4"]
    horizon: Int[Array, ""]
    omega: Float[Array, "G 0"]
    applicants: int = eqx.field(static=True)
    group_names: tuple[str, ...] = eqx.field(static=True, default=())

    @property
    def num_groups(self) -> int:
        return int(self.group_probs.shape[-1])

    @property
    def population(self) -> int:
        """The applicants of a round."""
        return self.applicants

    @property
    def num_scores(self) -> int:
        """Scores are real numbers between the two ends of the scale."""
        return 2

    @property
    def observation_size(self) -> int:
        return self.applicants * (3 + self.num_groups)


def make_params(
    *,
    groups: int | None = None,
    score_mean: ArrayLike | None = None,
    score_sd: ArrayLike | None = None,
    group_probs: ArrayLike | None = None,
    costs: ArrayLike | None = None,
    eligible_factor: float = 1.1,
    benefit: float = 1.0,
    max_raise: float = 1.0,
    epsilon: float = 0.0,
    score_noise: float = 0.0,
    threshold_noise: float = 0.0,
    noise_max: float = 0.35,
    rewards: ArrayLike = (1.0, -1.0, 1.0, -1.0),
    applicants: int = 20,
    horizon: int = 750,
    group_names: Sequence[str] = (),
) -> Params:
    """Check the parameters of college-threshold.

    Args:
        groups: number of groups; only needed if no other parameter implies it. Other numbers are then spaced evenly.
        score_mean: (groups,), means of the normal distributions of true scores, which are clipped to [0, 1].
        score_sd: (groups,) or one number, their standard deviations.
        group_probs: (groups,), the probability of each group; every applicant's group is drawn.
        costs: (groups,) or one number, what it costs to raise a score by 1.
        eligible_factor: somebody is eligible with a true score of at least this times the mean of the group.
        benefit: what admission is worth to an applicant.
        max_raise: the most that anybody can raise a score; 0: nobody does.
        epsilon: probability with which somebody is admitted whatever the score is, which applicants know.
        score_noise: standard deviation of the difference between the score that is presented and the true one.
        threshold_noise: standard deviation of the difference between the threshold that applicants aim at and the
            published one.
        noise_max: both kinds of noise are clipped to [-noise_max, noise_max].
        rewards: (4,), for admitting an eligible applicant, admitting one who is not, rejecting one who is not, and
            rejecting an eligible one; the reward of a step is the mean over its applicants.
        applicants: how many apply in a round.
        horizon: rounds until the episode is truncated.
        group_names: names of the groups in tables and pages.

    Raises:
        ValueError: if a value or a shape is wrong.

    Example:
        >>> make_params(score_mean=(0.5, 0.5), score_sd=0.1, group_probs=(0.5, 0.5), costs=(5, 10))
    """
    count = count_groups(groups, score_mean=score_mean, group_probs=group_probs, costs=costs)
    mean = per_group("score_mean", _spaced(score_mean, 0.8, 0.6, count), count)
    shares = np.linspace(0.6, 0.4, count)
    probs = check_distribution("group_probs", shares / shares.sum() if group_probs is None else group_probs)
    check_shape("group_probs", probs, (count,), "one per group")
    pay = check_array("rewards", rewards, ndim=(1,))
    check_shape(
        "rewards",
        pay,
        (4,),
        "admitted and eligible, admitted and not, rejected and not, rejected and eligible",
    )
    as_float, as_int = partial(jnp.asarray, dtype=jnp.float32), partial(jnp.asarray, dtype=jnp.int32)
    noise = {"score_noise": score_noise, "threshold_noise": threshold_noise}
    sds = {name: check_real(name, value, min=0) for name, value in noise.items()}
    return Params(
        score_mean=as_float(mean),
        score_sd=as_float(per_group("score_sd", _spaced(score_sd, 0.1, 0.3, count), count, negative=False)),
        group_probs=as_float(probs),
        costs=as_float(_check_costs(_spaced(costs, 0.8, 1.2, count), count)),
        eligible_from=as_float(check_real("eligible_factor", eligible_factor, min=0) * mean),
        benefit=as_float(check_real("benefit", benefit, min=0)),
        max_raise=as_float(check_real("max_raise", max_raise, min=0, max=1)),
        epsilon=as_float(check_real("epsilon", epsilon, min=0, max=1)),
        **{name: as_float(sd) if sd else None for name, sd in sds.items()},
        noise_max=as_float(check_real("noise_max", noise_max, min=0, max=1)),
        rewards=as_float(pay),
        horizon=as_int(check_int("horizon", horizon, min=1, max=2**31 - 2)),
        omega=no_omega(count),
        applicants=check_int("applicants", applicants, min=1, max=MAX_APPLICANTS),
        group_names=check_names(group_names, count),
    )


def _spaced(value: ArrayLike | None, first: float, last: float, count: int) -> ArrayLike:
    """The value, or by default numbers from the first to the last one."""
    return np.linspace(first, last, count) if value is None else value


def _check_costs(costs: ArrayLike, groups: int) -> Float[Values, "G"]:
    checked = per_group("costs", costs, groups)
    if (checked.astype(np.float32) <= 0).any():  # which is 0 for numbers that single precision does not have
        raise ValueError(
            f"costs must be positive, got {checked.min():g}; raising a score must cost something"
        )
    return checked
