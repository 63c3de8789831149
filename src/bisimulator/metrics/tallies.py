"""Totals of an episode that only some environments have: sick days, incidents seen and incidents missed."""

from __future__ import annotations

from bisimulator.core import Column, Direction, Metric, Outcome, Values
from bisimulator.metrics._over_groups import count


def _metric(name: str, title: str, summary: str, direction: Direction, tally: str) -> Metric:
    """The total of a tally, per group and in all."""

    def by_group(outcome: Outcome) -> Values:
        return count(outcome, tally)

    return Metric(
        name=name,
        summary=summary,
        group=Column(title, direction, (0.0, None)),
        by_group=by_group,
        over_groups={name: Column(title, direction, (0.0, None))},
        overall=lambda outcome: {name: by_group(outcome).sum(-1)},
        applies=lambda scenario: tally in scenario.tallies,
    )


SICK_DAYS = _metric("sick_days", "sick days", "Days that people were infected, added up", "lower", "sick")
INCIDENTS_SEEN = _metric(
    "incidents_seen", "incidents seen", "Incidents that were discovered", "higher", "seen"
)
INCIDENTS_MISSED = _metric(
    "incidents_missed", "incidents missed", "Incidents that were not discovered", "lower", "missed"
)
