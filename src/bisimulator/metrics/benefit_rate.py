"""Benefit rate: what a group received out of what it needed, as ELBERT-PO measures fairness (Xu et al., 2024)."""

from __future__ import annotations

import numpy as np

from bisimulator.core import Column, Metric, Outcome, Values
from bisimulator.metrics._over_groups import gap, gap_mean_sd, over_groups

_COLUMN = Column("benefit rate", "higher", (0.0, None))


def by_group(outcome: Outcome) -> Values:
    """Supply / (demand + 1) of an episode; the 1 keeps groups without any demand defined."""
    return _rates(outcome, episodes=1)


def _rates(outcome: Outcome, episodes: int) -> Values:
    supply, demand = (np.asarray(x, np.float64) for x in (outcome.supply, outcome.demand))
    if episodes > 1:
        supply, demand = (x.sum(-2, keepdims=True) for x in (supply, demand))
    rates: Values = supply / (demand + episodes)
    return rates


def overall(outcome: Outcome) -> dict[str, Values]:
    """Gap, mean and SD of each episode, and the bias: the gap of the rates pooled over the episodes of a seed."""
    rates = by_group(outcome)
    pooled = gap(_rates(outcome, episodes=rates.shape[-2] if rates.ndim > 1 else 1))
    return {
        **gap_mean_sd("benefit_rate", rates),
        "benefit_rate_bias": np.broadcast_to(pooled, rates.shape[:-1]).copy(),
    }


METRIC = Metric(
    name="benefit_rate",
    summary="What a group received out of what it needed; its gap pooled over episodes is ELBERT-PO's bias",
    group=_COLUMN,
    by_group=by_group,
    over_groups={
        **over_groups("benefit_rate", _COLUMN),
        "benefit_rate_bias": Column("bias of benefit rates", "lower", (0.0, None), "bias"),
    },
    overall=overall,
)
