"""Approvals: how many loans or admissions each group got in the episode (over time: `Outcome.approvals`)."""

from __future__ import annotations

from bisimulator.core import Metric, Outcome
from bisimulator.metrics.over_groups import Values, count, gap_mean_sd


def by_group(outcome: Outcome) -> Values:
    """Accepted applications over the whole episode. 0: the group got nothing."""
    return count(outcome, "approved")


METRIC = Metric(
    name="approvals",
    summary="Number of loans or admissions in the episode",
    best="",
    by_group=by_group,
    overall=lambda outcome: gap_mean_sd("approvals", by_group(outcome)),
)
