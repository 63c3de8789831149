"""How numbers per group become one number. NaN marks a group with nothing to count."""

from __future__ import annotations

import dataclasses

import numpy as np

from bisimulator.core import Column, Outcome, Values


def count(outcome: Outcome, name: str) -> Values:
    return np.asarray(outcome.count(name), dtype=np.float64)


def ratio(part: Values, whole: Values) -> Values:
    """part / whole, NaN where there is nothing to divide by."""
    return np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole > 0)


def gap(values: Values) -> Values:
    """Largest minus smallest over groups. 0: all groups alike."""
    known = ~np.isnan(values)
    spread = np.where(known, values, -np.inf).max(-1) - np.where(known, values, np.inf).min(-1)
    return np.where(known.any(-1), spread, np.nan)


def mean(values: Values) -> Values:
    known = ~np.isnan(values)
    return ratio(np.where(known, values, 0.0).sum(-1), known.sum(-1))


def sd(values: Values) -> Values:
    """Population standard deviation over groups. 0: all groups alike."""
    return np.sqrt(mean((values - mean(values)[..., None]) ** 2))


def gap_mean_sd(name: str, values: Values) -> dict[str, Values]:
    return {f"{name}_gap": gap(values), f"{name}_mean": mean(values), f"{name}_sd": sd(values)}


def over_groups(name: str, column: Column) -> dict[str, Column]:
    """The columns of `gap_mean_sd`. A gap and a spread are better low, whatever they are of."""
    gap_bounds = (0.0, column.bounds[1])
    return {
        f"{name}_gap": Column(f"{column.title} gap", "lower", gap_bounds, f"{column.head} gap"),
        f"{name}_mean": dataclasses.replace(
            column, title=f"{column.title}, mean", short=f"{column.head} mean"
        ),
        f"{name}_sd": Column(f"{column.title}, SD", "lower", gap_bounds, f"{column.head} sd"),
    }
