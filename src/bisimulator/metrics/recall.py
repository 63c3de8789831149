"""Recall (equality of opportunity): of those who would have repaid or succeeded, how many were accepted."""

from __future__ import annotations

from bisimulator.core import Metric, Outcome
from bisimulator.metrics.over_groups import Values, count, gap_mean_sd, ratio


def by_group(outcome: Outcome) -> Values:
    """tp / (tp + fn) over the whole episode. 0: nobody who deserved it was accepted; NaN: nobody deserved it."""
    return ratio(count(outcome, "approved_qualified"), count(outcome, "qualified"))


METRIC = Metric(
    name="recall",
    summary="Share of the qualified who were accepted",
    best="higher",
    by_group=by_group,
    overall=lambda outcome: gap_mean_sd("recall", by_group(outcome)),
)
