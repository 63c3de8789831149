"""Shrinkage of repayment rates: rates of few people are noisy, so each is shrunk towards a rate of more people.

The rate of all people at a score is shrunk towards a logistic trend over the scores, which also fills scores that
nobody has. Each group's rate at a score is shrunk towards that of a model with an effect of the score and an effect of
the group (`_group_effects.py`), so that a difference between groups at all scores is kept. The strength is estimated
from the data (empirical Bayes), for each group by itself, because the model may suit one and not another: the prior of
a rate is a beta distribution whose mean is the rate it is shrunk towards, and whose weight, in people, maximises the
beta-binomial likelihood of the counts.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from scipy.special import betaln, expit

from bisimulator.core import Values
from bisimulator.people._group_effects import GroupEffects

WEIGHT_BOUNDS = (1.0, 1e6)  # of a prior, in people; at least one, so that no rate is 0 or 1 by accident
_MIN_RATE = 1e-6


def shrink(
    effects: GroupEffects,
    people: Float[Values, "G C"],
    repaid: Float[Values, "G C"],
    weight: float | None = None,
) -> tuple[Float[Values, "G C"], Float[Values, "C"]]:
    """Repayment rates at each score: of each group, and of all people. `weight=None` estimates the weight."""
    all_people, all_repaid = people.sum(0), repaid.sum(0)
    pooled = shrink_towards(logistic_trend(all_people, all_repaid), all_people, all_repaid, weight)
    if len(people) == 1:
        return pooled[None], pooled
    groups = zip(effects.rates, people, repaid, strict=True)
    return np.stack([shrink_towards(*group, weight) for group in groups]), pooled


def shrink_towards(
    prior: Float[Values, "*B"],
    people: Float[Values, "*B"],
    repaid: Float[Values, "*B"],
    weight: float | None = None,
) -> Float[Values, "*B"]:
    """(repaid + weight * prior) / (people + weight); the prior itself where there is nobody."""
    weight = max_likelihood_weight(prior, people, repaid) if weight is None else weight
    total = people + weight
    return np.divide(repaid + weight * prior, total, out=np.array(prior, np.float64), where=total > 0)


def max_likelihood_weight(
    prior: Float[Values, "*B"], people: Float[Values, "*B"], repaid: Float[Values, "*B"]
) -> float:
    """The weight of the prior, in people, that maximises the likelihood of the counts."""
    seen = people > 0
    n, x, mean = people[seen], repaid[seen], np.clip(prior[seen], _MIN_RATE, 1 - _MIN_RATE)

    def negative_log_likelihood(log_weight: float) -> float:
        a, b = np.exp(log_weight) * mean, np.exp(log_weight) * (1 - mean)
        return -float((betaln(x + a, n - x + b) - betaln(a, b)).sum())

    minimum = minimize_scalar(negative_log_likelihood, bounds=np.log(WEIGHT_BOUNDS), method="bounded")
    return float(np.exp(minimum.x))


def logistic_trend(people: Float[Values, "C"], repaid: Float[Values, "C"]) -> Float[Values, "C"]:
    """A logistic curve over the bins by maximum likelihood, with a small ridge so that it exists for any data."""
    position = np.linspace(-1, 1, len(people)) if len(people) > 1 else np.zeros(1)
    design, ridge = np.stack([np.ones_like(position), position], -1), np.diag([1e-3, 1e-2])
    base = (repaid.sum() + 0.5) / (people.sum() + 1)
    beta = np.array([np.log(base / (1 - base)), 0.0])
    for _ in range(50):  # Newton; the ridge keeps it from diverging if everybody repaid, or nobody
        rate = expit(design @ beta)
        gradient = design.T @ (repaid - people * rate) - ridge @ beta
        hessian = (design.T * (people * rate * (1 - rate))) @ design + ridge
        step = _solve(hessian, gradient)
        beta = beta + step * min(1.0, 2.0 / max(abs(step).max(), 1e-300))
        if abs(step).max() < 1e-10:
            break
    curve: Values = expit(design @ beta)
    return curve


def _solve(hessian: Float[Values, "2 2"], gradient: Float[Values, "2"]) -> Float[Values, "2"]:
    try:
        return np.asarray(np.linalg.solve(hessian, gradient), np.float64)
    except np.linalg.LinAlgError:  # so many people in one bin that the ridge is lost in rounding
        return np.asarray(np.linalg.lstsq(hessian, gradient)[0], np.float64)
