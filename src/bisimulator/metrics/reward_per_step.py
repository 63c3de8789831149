"""Reward per step: the return of an episode divided by its number of decisions."""

from __future__ import annotations

import numpy as np

from bisimulator.core import Column, Metric, Outcome, Values
from bisimulator.metrics._over_groups import count, ratio


def overall(outcome: Outcome) -> dict[str, Values]:
    """Reward per decision."""
    steps = np.asarray(outcome.steps, np.float64)
    return {"reward_per_step": ratio(count(outcome, "reward").sum(-1), steps)}


METRIC = Metric(
    name="reward_per_step",
    summary="Return of the episode divided by its number of decisions",
    group=None,
    by_group=None,
    over_groups={"reward_per_step": Column("reward per step", "higher")},
    overall=overall,
)
