"""Credit gap: the distance between credit scores of groups at the end of an episode, true and observed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Array, Float

from bisimulator.core import SCORE_GRID, Column, Metric, Outcome, Values
from bisimulator.metrics._over_groups import ratio

_AT_ONCE = 2**24  # numbers


def pairwise_gaps(people: Values, points_per_score: int) -> Values:
    """Kantorovich distances (..., pairs) between score distributions of groups on a grid, in score points.

    On a line, this distance is the area between the distribution functions.
    """
    cdf = ratio(people, people.sum(-1, keepdims=True)).cumsum(-1)[..., :-1]
    first, second = np.triu_indices(people.shape[-2], k=1)
    gaps: Values = np.empty((*cdf.shape[:-2], first.size))
    size = max(1, _AT_ONCE * cdf.shape[-2] // max(cdf.size, 1))  # pairs of very many groups, some at a time
    for start in range(0, first.size, size):
        some = slice(start, start + size)
        gaps[..., some] = np.abs(cdf[..., first[some], :] - cdf[..., second[some], :]).sum(-1)
    return gaps / points_per_score


def gaps(name: str, people: Values, points_per_score: int) -> dict[str, Values]:
    """The largest and the mean gap over pairs of groups: 0 if all distributions are equal, NaN if fewer than two
    groups have people.
    """
    pairs = pairwise_gaps(people, points_per_score)
    if pairs.shape[-1] == 0:
        zero = np.zeros(pairs.shape[:-1])
        return {name: zero, f"{name}_mean": zero}
    known = ~np.isnan(pairs)
    largest = np.where(known.any(-1), np.where(known, pairs, 0.0).max(-1), np.nan)
    return {name: largest, f"{name}_mean": ratio(np.where(known, pairs, 0.0).sum(-1), known.sum(-1))}


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
