"""Credit gap: how far apart the groups' credit scores are at the end of the episode, true and as observed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bisimulator.core import SCORE_GRID, Column, Metric, Outcome, Values
from bisimulator.metrics._over_groups import ratio


def pairwise_gaps(people: Values, points_per_score: int) -> Values:
    """Kantorovich distances (..., pairs) between groups' distributions over a grid of scores, in score points.

    On a line it is the area between the distribution functions.
    """
    cdf = ratio(people, people.sum(-1, keepdims=True)).cumsum(-1)[..., :-1]
    first, second = np.triu_indices(people.shape[-2], k=1)
    return np.abs(cdf[..., first, :] - cdf[..., second, :]).sum(-1) / points_per_score


def gaps(name: str, people: Values, points_per_score: int) -> dict[str, Values]:
    """The largest gap over pairs of groups, and the mean. 0: the groups' scores are distributed alike.

    NaN: no two groups have anybody in them.
    """
    pairs = pairwise_gaps(people, points_per_score)
    if pairs.shape[-1] == 0:
        zero = np.zeros(pairs.shape[:-1])
        return {name: zero, f"{name}_mean": zero}
    known = ~np.isnan(pairs)
    largest = np.where(known.any(-1), np.where(known, pairs, 0.0).max(-1), np.nan)
    return {name: largest, f"{name}_mean": ratio(np.where(known, pairs, 0.0).sum(-1), known.sum(-1))}


def _metric(
    name: str, title: str, summary: str, people: Callable[[Outcome], object], points_per_score: int
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
    "Distance between the groups' final credit scores, in score points",
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
