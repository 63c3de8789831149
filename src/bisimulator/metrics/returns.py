"""Return: what the decision maker earned, in total and per person of each group (demographic parity)."""

from __future__ import annotations

import numpy as np

from bisimulator.core import Column, Metric, Outcome, Values
from bisimulator.metrics._over_groups import count, gap, ratio


def by_group(outcome: Outcome) -> Values:
    """Undiscounted reward from applications of the group, per person of the group; J(g) of definition 4."""
    return ratio(count(outcome, "reward"), np.asarray(outcome.people, np.float64))


def overall(outcome: Outcome) -> dict[str, Values]:
    """The return of the episode, and the demographic-parity gap: the largest difference of J(g)."""
    return {"average_return": count(outcome, "reward").sum(-1), "parity_gap": gap(by_group(outcome))}


METRIC = Metric(
    name="return",
    summary="Return of the episode; per person of each group, and the demographic-parity gap",
    group=Column("return per person", "higher", short="return"),
    by_group=by_group,
    over_groups={
        "average_return": Column("average return", "higher", short="return"),
        "parity_gap": Column("parity gap", "lower", (0.0, None)),
    },
    overall=overall,
)
