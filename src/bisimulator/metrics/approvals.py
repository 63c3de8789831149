"""Approvals: number of loans or admissions per group in an episode (`Outcome.approvals` has them over time)."""

from __future__ import annotations

from bisimulator.core import Column, Metric, Outcome, Values
from bisimulator.metrics._over_groups import count, gap_mean_sd, over_groups

_COLUMN = Column("approvals", "", (0.0, None))


def by_group(outcome: Outcome) -> Values:
    """Accepted applications in the whole episode."""
    return count(outcome, "approved")


METRIC = Metric(
    name="approvals",
    summary="Number of loans or admissions in the episode",
    group=_COLUMN,
    by_group=by_group,
    over_groups=over_groups("approvals", _COLUMN),
    overall=lambda outcome: gap_mean_sd("approvals", by_group(outcome)),
    applies=lambda scenario: scenario.applicants,
)
