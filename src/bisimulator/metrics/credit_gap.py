"""Credit gap: the distance between credit scores of groups at the end of an episode, true and observed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Array, Float

from bisimulator.core import SCORE_GRID, Column, Metric, Outcome, Values
from bisimulator.metrics._over_groups import ratio

_AT_ONCE = 2**24  # numbers


def pairwise_gaps(people: Values, points_per_score: int) -> Iterator[Values]:
    """Kantorovich distances (..., pairs) between score distributions of groups on a grid, in score points.

    On a line, this distance is the area between the distribution functions. The pairs of very many groups come in parts
    of bounded memory.
    """
    cdf = ratio(people, people.sum(-1, keepdims=True)).cumsum(-1)[..., :-1]
    first, second = np.triu_indices(people.shape[-2], k=1)
    size = max(1, _AT_ONCE * cdf.shape[-2] // max(cdf.size, 1))
    for start in range(0, first.size, size):
        some = slice(start, start + size)
        yield np.abs(cdf[..., first[some], :] - cdf[..., second[some], :]).sum(-1) / points_per_score


def gaps(name: str, people: Values, points_per_score: int) -> dict[str, Values]:
    """The largest and the mean gap over pairs of groups: 0 if all distributions are equal, NaN if fewer than two
    groups have people.
    """
    zero = np.zeros(people.shape[:-2])
    if people.shape[-2] < 2:
        return {name: zero, f"{name}_mean": zero}
    largest, total, count = np.full_like(zero, np.nan), zero, zero
    for pairs in pairwise_gaps(people, points_per_score):
        known = ~np.isnan(pairs)
        largest = np.fmax(largest, np.fmax.reduce(pairs, axis=-1))
        total, count = total + np.where(known, pairs, 0.0).sum(-1), count + known.sum(-1)
    return {name: largest, f"{name}_mean": ratio(total, count)}


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
