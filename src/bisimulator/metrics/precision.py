"""Precision: of those who were accepted, how many repaid or succeeded."""

from __future__ import annotations

from bisimulator.core import Metric, Outcome
from bisimulator.metrics.over_groups import Values, count, gap_mean_sd, ratio


def by_group(outcome: Outcome) -> Values:
    """tp / (tp + fp) over the whole episode. 0: no accepted person was qualified; NaN: nobody was accepted."""
    return ratio(count(outcome, "approved_qualified"), count(outcome, "approved"))


METRIC = Metric(
    name="precision",
    summary="Share of the accepted who were qualified",
    best="higher",
    by_group=by_group,
    overall=lambda outcome: gap_mean_sd("precision", by_group(outcome)),
)
