"""Social burden (Milli et al. 2019): what people of a group had to pay to be admitted."""

from __future__ import annotations

from bisimulator.core import Metric, Outcome, Scenario
from bisimulator.metrics.over_groups import Values, count, gap_mean_sd, ratio


def by_group(outcome: Outcome) -> Values:
    """Mean cost paid so far by the admitted applicants who paid anything. NaN: nobody paid and was admitted.

    Group 1 agrees with the paper's table; for group 2 the paper's number is not reached by any reading tried.
    """
    return ratio(count(outcome, "burden"), count(outcome, "burdened"))


def _college(scenario: Scenario) -> bool:
    return "cost" in scenario.omega_names


METRIC = Metric(
    name="social_burden",
    summary="Mean cost paid by the admitted who paid anything",
    best="lower",
    by_group=by_group,
    overall=lambda outcome: gap_mean_sd("social_burden", by_group(outcome)),
    applies=_college,
)
