"""Ratios per group: recall, precision, approval rate, accuracy, and the burdens of admitted and of eligible people."""

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
    max: float | None = 1.0,
    applies: Callable[[Scenario], bool] = lambda scenario: scenario.applicants,
) -> Metric:
    """The metric `part / whole` over the whole episode; NaN for a group whose `whole` is 0."""
    column = Column(title, direction, (0.0, max), short)

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


# tp / (tp + fn), equality of opportunity. 0: no qualified person was accepted; NaN: nobody was qualified.
RECALL = _metric(
    "recall",
    "recall",
    "Share of qualified applicants who were accepted",
    "higher",
    "approved_qualified",
    "qualified",
)
# tp / (tp + fp). 0: no accepted person was qualified; NaN: nobody was accepted.
PRECISION = _metric(
    "precision",
    "precision",
    "Share of accepted applicants who were qualified",
    "higher",
    "approved_qualified",
    "approved",
)
# The selection rate of demographic parity. 0: everybody was rejected; NaN: nobody applied.
APPROVAL_RATE = _metric(
    "approval_rate",
    "approval rate",
    "Share of applications that were accepted",
    "",
    "approved",
    "applied",
)
# Milli et al. (2019): mean cost paid so far by admitted applicants who paid anything; NaN: nobody did. Group 1 agrees
# with the paper's table; for group 2 no interpretation that was tried gives the published number.
SOCIAL_BURDEN = _metric(
    "social_burden",
    "social burden",
    "Mean cost paid by admitted applicants who paid anything",
    "lower",
    "burden",
    "burdened",
    short="burden",
    max=None,
    applies=lambda scenario: scenario.applicants_pay,
)
# Milli et al. (2019), as D'Amour et al. (2020) measure it: also what somebody does not pay because it is not worth it.
ELIGIBLE_BURDEN = _metric(
    "eligible_burden",
    "eligible burden",
    "Mean cost at which eligible applicants would reach the threshold",
    "lower",
    "needed",
    "demand",
    max=None,
    applies=lambda scenario: "needed" in scenario.tallies,
)
# 0: every decision was wrong; NaN: nobody applied.
ACCURACY = _metric(
    "accuracy",
    "accuracy",
    "Share of applicants who were admitted and eligible, or neither",
    "higher",
    "correct",
    "applied",
    applies=lambda scenario: "correct" in scenario.tallies,
)
