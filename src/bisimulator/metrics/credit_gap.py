"""Credit gap: how far apart the groups' credit scores are at the end of the episode, true and as observed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bisimulator.core import SCORE_GRID, Metric, Outcome, Scenario
from bisimulator.metrics.over_groups import Values, ratio


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


def _lending(scenario: Scenario) -> bool:
    return "c_plus" in scenario.omega_names


def _of(name: str, field: str, points: int) -> Callable[[Outcome], dict[str, Values]]:
    return lambda outcome: gaps(name, np.asarray(getattr(outcome, field), np.float64), points)


METRIC = Metric(
    name="credit_gap",
    summary="Distance between the groups' final credit scores, in score points",
    best="lower",
    by_group=None,
    overall=_of("credit_gap", "true_scores", 1),
    applies=_lending,
)
OBSERVED = Metric(
    name="observed_credit_gap",
    summary="The same distance between the scores that the agent sees",
    best="lower",
    by_group=None,
    overall=_of("observed_credit_gap", "observed_scores", SCORE_GRID),
    applies=_lending,
)
