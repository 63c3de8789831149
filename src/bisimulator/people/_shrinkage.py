"""Repayment rates of few people are mostly chance: each is drawn towards what more people say.

Two levels. All people's rate at a score is drawn towards a trend over the scores (a logistic curve), which also
fills scores that nobody has; each group's rate at a score is drawn towards all people's rate there. How
strongly is told by the data (empirical Bayes): the prior of a rate is a beta distribution whose mean is the rate it
is drawn towards and whose weight, in people, makes the counts most likely (beta-binomial).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import betaln, expit

Array = NDArray[np.float64]

WEIGHTS = (1.0, 1e6)  # of a prior, in people: at least one, so that no rate is 0 or 1 by accident
_EDGE = 1e-6


def shrink(
    people: Float[Array, "G C"], repaid: Float[Array, "G C"], weight: float | None = None
) -> tuple[Float[Array, "G C"], Float[Array, "C"]]:
    """Each group's and all people's rate of repayment at each score. `weight`: None tells it from the data."""
    everybody, all_repaid = people.sum(0), repaid.sum(0)
    pooled = drawn_towards(trend(everybody, all_repaid), everybody, all_repaid, weight)
    return drawn_towards(np.broadcast_to(pooled, people.shape), people, repaid, weight), pooled


def drawn_towards(prior: Array, people: Array, repaid: Array, weight: float | None = None) -> Array:
    """(repaid + weight * prior) / (people + weight); the prior itself where there is nobody."""
    weight = likeliest_weight(prior, people, repaid) if weight is None else weight
    total = people + weight
    return np.divide(repaid + weight * prior, total, out=np.array(prior, np.float64), where=total > 0)


def likeliest_weight(prior: Array, people: Array, repaid: Array) -> float:
    """The prior's weight, in people, at which the counts are most likely."""
    seen = people > 0
    n, x, mean = people[seen], repaid[seen], np.clip(prior[seen], _EDGE, 1 - _EDGE)

    def unlikeliness(log_weight: float) -> float:
        a, b = np.exp(log_weight) * mean, np.exp(log_weight) * (1 - mean)
        return -float((betaln(x + a, n - x + b) - betaln(a, b)).sum())

    found = minimize_scalar(unlikeliness, bounds=np.log(WEIGHTS), method="bounded")
    return float(np.exp(found.x))


def trend(people: Float[Array, "C"], repaid: Float[Array, "C"]) -> Float[Array, "C"]:
    """A logistic curve over the bins by maximum likelihood, slightly held back so that it exists for any data."""
    place = np.linspace(-1, 1, len(people)) if len(people) > 1 else np.zeros(1)
    design, ridge = np.stack([np.ones_like(place), place], -1), np.diag([1e-3, 1e-2])
    base = (repaid.sum() + 0.5) / (people.sum() + 1)
    beta = np.array([np.log(base / (1 - base)), 0.0])
    for _ in range(50):  # Newton; the ridge keeps it from running away where all repaid, or none
        rate = expit(design @ beta)
        slope = design.T @ (repaid - people * rate) - ridge @ beta
        curve = (design.T * (people * rate * (1 - rate))) @ design + ridge
        step = np.linalg.solve(curve, slope)
        beta = beta + step * min(1.0, 2.0 / max(abs(step).max(), 1e-300))
        if abs(step).max() < 1e-10:
            break
    return expit(design @ beta)
