"""Shares per group: recall, precision, approval rate, and the social burden of the admitted."""

from __future__ import annotations

from collections.abc import Callable

from bisimulator.core import Column, Direction, Metric, Outcome, Scenario, Values
from bisimulator.metrics._over_groups import count, gap_mean_sd, over_groups, ratio


def _metric(
    name: str,
    title: str,
    summary: str,
    direction: Direction,
    part: str,
    whole: str,
    *,
    short: str = "",
    top: float | None = 1.0,
    applies: Callable[[Scenario], bool] = lambda scenario: True,
) -> Metric:
    """The metric `part / whole` over the whole episode; NaN for a group with nothing to divide by."""
    column = Column(title, direction, (0.0, top), short)

    def by_group(outcome: Outcome) -> Values:
        return ratio(count(outcome, part), count(outcome, whole))

    return Metric(
        name=name,
        summary=summary,
        group=column,
        by_group=by_group,
        over_groups=over_groups(name, column),
        overall=lambda outcome: gap_mean_sd(name, by_group(outcome)),
        applies=applies,
    )


# tp / (tp + fn), equality of opportunity. 0: nobody qualified was accepted; NaN: nobody was qualified.
RECALL = _metric(
    "recall",
    "recall",
    "Share of the qualified who were accepted",
    "higher",
    "approved_qualified",
    "qualified",
)
# tp / (tp + fp). 0: no accepted person was qualified; NaN: nobody was accepted.
PRECISION = _metric(
    "precision",
    "precision",
    "Share of the accepted who were qualified",
    "higher",
    "approved_qualified",
    "approved",
)
# The selection rate of demographic parity. 0: everybody was rejected; NaN: nobody applied.
APPROVAL_RATE = _metric(
    "approval_rate",
    "approval rate",
    "Share of the applications that were accepted",
    "",
    "approved",
    "applied",
)
# Milli et al. (2019): mean cost paid so far by the admitted applicants who paid anything; NaN: nobody did. Group 1
# agrees with the paper's table; for group 2 no reading that was tried gives the published number.
SOCIAL_BURDEN = _metric(
    "social_burden",
    "social burden",
    "Mean cost paid by the admitted who paid anything",
    "lower",
    "burden",
    "burdened",
    short="burden",
    top=None,
    applies=lambda scenario: scenario.applicants_pay,
)
