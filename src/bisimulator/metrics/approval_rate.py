"""Approval rate (selection rate): of those who applied, how many were accepted."""

from __future__ import annotations

from bisimulator.core import Metric, Outcome
from bisimulator.metrics.over_groups import Values, count, gap_mean_sd, ratio


def by_group(outcome: Outcome) -> Values:
    """accepted / applied over the whole episode. 0: everybody was rejected; NaN: nobody applied."""
    return ratio(count(outcome, "approved"), count(outcome, "applied"))


METRIC = Metric(
    name="approval_rate",
    summary="Share of the applications that were accepted",
    best="",
    by_group=by_group,
    overall=lambda outcome: gap_mean_sd("approval_rate", by_group(outcome)),
)
