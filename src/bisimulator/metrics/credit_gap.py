"""Credit gap: the distance between credit scores of groups at the end of an episode, true and observed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from bisimulator.core import SCORE_GRID, Column, Metric, Outcome, Values
from bisimulator.metrics._over_groups import ratio

_ROUNDING = 1e-12  # relative


def gaps(name: str, people: Values, points_per_score: int) -> dict[str, Values]:
    """The largest and the mean gap over pairs of groups: 0 if all distributions are equal, NaN if fewer than two
    groups have people.

    A gap is the Kantorovich distance between two groups' score distributions on a grid, in score points. On a line,
    this is the area between the distribution functions.
    """
    zero = np.zeros(people.shape[:-2])
    if people.shape[-2] < 2:
        return {name: zero, f"{name}_mean": zero}
    present = people.sum(-1) > 0
    cdf = ratio(people, people.sum(-1, keepdims=True)).cumsum(-1)[..., :-1]
    largest = np.empty(zero.shape)
    for episode in np.ndindex(zero.shape):
        largest[episode] = _largest_distance(cdf[episode][present[episode]])
    mean = _mean_distance(cdf, present.sum(-1))
    return {name: largest / points_per_score, f"{name}_mean": mean / points_per_score}


def _largest_distance(points: Float[Values, "G B"]) -> float:
    """The largest L1 distance of two points; NaN if there are fewer than two.

    Two points are at most as far apart as their distances from the middle together, which spares most pairs of many.
    """
    if len(points) < 2:
        return float("nan")
    radius = np.abs(points - points.mean(0)).sum(-1)
    order = np.argsort(-radius)
    points, radius = points[order], (1 + _ROUNDING) * radius[order]
    largest = 0.0
    for i in range(len(points) - 1):
        end = np.searchsorted(-radius, radius[i] - largest)  # beyond, nobody is far enough
        if end <= i + 1:
            break
        largest = max(largest, float(np.abs(points[i + 1 : end] - points[i]).sum(-1).max()))
    return largest


def _mean_distance(points: Float[Values, "... G B"], count: Int[NDArray[np.int64], "..."]) -> Values:
    """The mean L1 distance over all pairs of `count` points, the others being NaN; from sorted coordinates.

    The k-th smallest of m numbers is the larger one of k pairs and the smaller one of m - 1 - k.
    """
    ordered = np.sort(points, axis=-2)  # NaN last
    above = np.nan_to_num(ordered - ordered[..., :1, :])  # equal numbers have distance 0, without rounding
    weight = 2 * np.arange(points.shape[-2]) - (count[..., None] - 1)
    total = (weight[..., None] * above).sum((-2, -1))
    return ratio(total, count * (count - 1) / 2)


def _metric(
    name: str,
    title: str,
    summary: str,
    people: Callable[[Outcome], Float[Array, "... G B"]],
    points_per_score: int,
) -> Metric:
    return Metric(
        name=name,
        summary=summary,
        group=None,
        by_group=None,
        over_groups={
            name: Column(title, "lower", (0.0, None)),
            f"{name}_mean": Column(f"{title}, mean", "lower", (0.0, None), f"{title} mean"),
        },
        overall=lambda outcome: gaps(name, np.asarray(people(outcome), np.float64), points_per_score),
        applies=lambda scenario: scenario.scores_move,
    )


METRIC = _metric(
    "credit_gap",
    "credit gap",
    "Distance between final credit scores of groups, in score points",
    lambda outcome: outcome.true_scores,
    1,
)
OBSERVED = _metric(
    "observed_credit_gap",
    "observed credit gap",
    "The same distance between the scores that the agent sees",
    lambda outcome: outcome.observed_scores,
    SCORE_GRID,
)
