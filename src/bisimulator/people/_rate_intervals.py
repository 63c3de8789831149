"""How far repayment rates may lie from their estimates: 95% intervals, in logits, and the rates within them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit
from scipy.stats import norm

from bisimulator.core import Values
from bisimulator.errors import check_real
from bisimulator.people._group_effects import GroupEffects, fit_group_effects

_MIN_RATE = 1e-6  # a rate of 0 or 1 has no logit


class RateIntervals(NamedTuple):
    """Half widths of 95% intervals, in logits."""

    level: Float[Values, "G"]  # of each group's rates, as a whole
    apart: Float[Values, "G"]  # of each group's difference from the first one at equal scores


def rates_within(
    intervals: RateIntervals | None,
    estimated: Float[Values, "G C"],
    origin: str,
    *,
    together: float,
    apart: float,
) -> Float[Values, "G C"]:
    """Rates within the intervals: at -1 at their lower ends, at 1 at their upper ends."""
    check_real("together", together, min=-1, max=1)
    check_real("apart", apart, min=-1, max=1)
    if intervals is None:
        raise ValueError(f"{origin} does not tell how many people there are, so rates have no intervals")
    moves = together * intervals.level + apart * intervals.apart
    moved: Values = expit(logit(np.clip(estimated, _MIN_RATE, 1 - _MIN_RATE)) + moves[:, None])
    return np.where(moves[:, None] == 0, estimated, moved)


def rate_intervals(effects: GroupEffects, people: Float[Values, "G C"]) -> RateIntervals:
    """From a logistic model of groups and bins."""
    everybody = people.sum(0) / people.sum()
    size = people.sum(1, keepdims=True)
    own = np.divide(people, size, out=np.tile(everybody, (len(people), 1)), where=size > 0)
    equal = np.einsum("c,gcp->gp", everybody, effects.design)
    return RateIntervals(
        _half_widths(effects, np.einsum("gc,gcp->gp", own, effects.design)),
        _half_widths(effects, equal - equal[0]),
    )


def pooled_intervals(people: Float[Values, "G C"], repaid: Float[Values, "G C"]) -> RateIntervals:
    """From a logistic model of all people as one group: groups do not differ."""
    counts = people.sum(0, keepdims=True), repaid.sum(0, keepdims=True)
    (level,) = rate_intervals(fit_group_effects(*counts), counts[0]).level
    return RateIntervals(np.full(len(people), level), np.zeros(len(people)))


def _half_widths(effects: GroupEffects, sums: Float[Values, "G P"]) -> Float[Values, "G"]:
    """Of sums of coefficients."""
    variance = np.einsum("gp,pq,gq->g", sums, effects.covariance, sums)
    half: Values = norm.ppf(0.975) * np.sqrt(np.maximum(variance, 0.0))
    return half
