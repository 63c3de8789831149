"""How far groups' repayment differs at equal scores: a logistic model with effects of bins and of groups.

logit(rate of group g in bin c at position z) = trend over the bins + bin effect u_c + group effect o_g + slope s_g * z

All effects are partially pooled: they are normal around 0, with variances estimated by EM. Bin effects and group slopes
vanish where the trend is enough. The variance of the group effects has a prior that counts as one group more: two large
groups keep their difference, while small groups, and many groups that are alike, are drawn towards the others. So a
difference that is alike at all scores is estimated from all people, not bin by bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit
from scipy.stats import norm

from bisimulator.core import Values

_GROUP_SCALE = 0.5  # typical group effect, in logits: about 10 points of a rate
_EM_STEPS = 60
_MIN_VARIANCE, _MAX_STEP = 1e-6, 2.0
_RELATIVE_ROUNDING = 1e-15
_TREND_RIDGE = 1e-3  # so that the trend exists if everybody repaid, or nobody
_TREND = 2  # coefficients: intercept and slope


class GroupEffects(NamedTuple):
    """The fitted model. Shapes: P coefficients."""

    design: Float[Values, "G C P"]
    coefficients: Float[Values, "P"]
    covariance: Float[Values, "P P"]

    @property
    def rates(self) -> Float[Values, "G C"]:
        """The rates of the model."""
        rates: Values = expit(self.design @ self.coefficients)
        return rates


class GroupDifference(NamedTuple):
    """How much more often a group repays than the reference at equal scores, with its 95% interval, as shares."""

    group: str
    reference: str
    estimate: float
    low: float
    high: float
    of_accepted: bool = False  # estimated from people who were accepted in the past

    @property
    def is_clear(self) -> bool:
        """Whether the data tell the two groups apart."""
        return not self.low <= 0 <= self.high

    @property
    def in_words(self) -> str:
        estimate, low, high = (100 * x for x in (self.estimate, self.low, self.high))
        interval = f"95% interval {low:+.1f} to {high:+.1f} points"
        if self.of_accepted:
            sentence = self._replace(of_accepted=False).in_words
            return f"Among those accepted in the past: {sentence[0].lower()}{sentence[1:]}"
        if self.is_clear:
            return (
                f"At equal scores, group {self.group!r} repays {'more' if estimate > 0 else 'less'} often than group "
                f"{self.reference!r}, by {abs(estimate):.1f} points ({interval})."
            )
        return (
            f"The data cannot tell whether group {self.group!r} repays differently from group {self.reference!r} at "
            f"equal scores: the estimated difference is {estimate:+.1f} points, {interval}. The estimate is used."
        )


def fit_group_effects(people: Float[Values, "G C"], repaid: Float[Values, "G C"]) -> GroupEffects:
    """Penalised maximum likelihood, with the variances of all effects by EM."""
    groups, bins = people.shape
    design = _design(groups, bins)
    flat, n, x = design.reshape(groups * bins, -1), people.reshape(-1), repaid.reshape(-1)
    beta = np.zeros(design.shape[-1])
    base = (x.sum() + 0.5) / (n.sum() + 1)
    beta[0] = np.log(base / (1 - base))
    penalty = np.concatenate(
        [np.full(_TREND, _TREND_RIDGE), np.full(groups, _GROUP_SCALE**-2), np.full(bins + groups, 10.0)]
    )
    start = _TREND + groups
    pooled = (slice(start, start + bins), slice(start + bins, None))  # bin effects, group slopes
    for _ in range(_EM_STEPS):
        beta, covariance = _newton(flat, n, x, beta, penalty)
        squares = beta**2 + np.diag(covariance)
        for effects in pooled:
            penalty[effects] = 1 / max(float(squares[effects].mean()), _MIN_VARIANCE)
        own = squares[_TREND:start]
        penalty[_TREND:start] = (groups + 1) / (own.sum() + _GROUP_SCALE**2)
    return GroupEffects(design, beta, covariance)


def _design(groups: int, bins: int) -> Float[Values, "G C P"]:
    """Intercept, slope, groups, bins, and slopes of groups."""
    position = np.linspace(-1, 1, bins) if bins > 1 else np.zeros(1)
    group, bin = np.indices((groups, bins))
    trend = np.stack([np.ones((groups, bins)), position[bin]], axis=-1)
    own, slopes = np.eye(groups)[group], np.eye(groups)[group] * position[bin][..., None]
    return np.concatenate([trend, own, np.eye(bins)[bin], slopes], axis=-1)


def _newton(
    design: Values, n: Values, x: Values, beta: Values, penalty: Values
) -> tuple[Float[Values, "P"], Float[Values, "P P"]]:
    """The mode, and the inverse of the negative Hessian there."""
    for _ in range(50):
        rate = expit(design @ beta)
        gradient = design.T @ (x - n * rate) - penalty * beta
        hessian = (design.T * (n * rate * (1 - rate))) @ design + np.diag(penalty)
        values, vectors = np.linalg.eigh(hessian)
        known = values > _RELATIVE_ROUNDING * values[-1]  # millions of people drown the penalty in rounding
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=known)
        step = vectors @ (inverse * (gradient @ vectors))
        beta = beta + step * min(1.0, _MAX_STEP / max(abs(step).max(), 1e-300))
        if abs(step).max() < 1e-8:
            break
    return beta, (vectors * inverse) @ vectors.T


def group_differences(
    effects: GroupEffects, names: Sequence[str], people: Float[Values, "G C"], *, of_accepted: bool = False
) -> tuple[GroupDifference, ...]:
    """Every group compared with the first, averaged over the scores of all people; intervals by the delta method."""
    share, rates = people.sum(0) / people.sum(), effects.rates
    means = rates @ share
    slopes = np.einsum("c,gc,gcp->gp", share, rates * (1 - rates), effects.design)
    found = []
    for g in range(1, len(names)):
        gradient, difference = slopes[g] - slopes[0], float(means[g] - means[0])
        half = float(norm.ppf(0.975) * np.sqrt(gradient @ effects.covariance @ gradient))
        interval = difference - half, difference + half
        found.append(GroupDifference(names[g], names[0], difference, *interval, of_accepted))
    return tuple(found)
