"""Aggregate numbers per group into one number. NaN marks a group with nothing to count."""

from __future__ import annotations

import dataclasses

import numpy as np

from bisimulator.core import Column, Outcome, Values


def count(outcome: Outcome, name: str) -> Values:
    """A count of the outcome per group, one of `core.COUNTS`."""
    counts: Values = np.asarray(outcome.count(name), dtype=np.float64)
    return counts


def ratio(part: Values, whole: Values) -> Values:
    """part / whole; NaN where whole is 0."""
    result: Values = np.full(np.broadcast(part, whole).shape, np.nan)
    return np.divide(part, whole, out=result, where=whole > 0)


def gap(values: Values) -> Values:
    """Largest minus smallest over groups; 0 if all groups are equal."""
    known = ~np.isnan(values)
    spread = np.where(known, values, -np.inf).max(-1) - np.where(known, values, np.inf).min(-1)
    return np.where(known.any(-1), spread, np.nan)


def mean(values: Values) -> Values:
    """Mean over groups, each weighted equally."""
    known = ~np.isnan(values)
    return ratio(np.where(known, values, 0.0).sum(-1), known.sum(-1))


def sd(values: Values) -> Values:
    """Population standard deviation over groups; 0 if all groups are equal."""
    deviation: Values = np.sqrt(mean((values - mean(values)[..., None]) ** 2))
    return deviation


def gap_mean_sd(name: str, values: Values) -> dict[str, Values]:
    """The columns `NAME_gap`, `NAME_mean` and `NAME_sd`."""
    return {f"{name}_gap": gap(values), f"{name}_mean": mean(values), f"{name}_sd": sd(values)}


def over_groups(name: str, column: Column) -> dict[str, Column]:
    """Declare the columns of `gap_mean_sd`. Lower gaps and standard deviations are better for any metric."""
    gap_bounds = (0.0, column.bounds[1])
    return {
        f"{name}_gap": Column(f"{column.title} gap", "lower", gap_bounds, f"{column.head} gap"),
        f"{name}_mean": dataclasses.replace(
            column, title=f"{column.title}, mean", short=f"{column.head} mean"
        ),
        f"{name}_sd": Column(f"{column.title}, SD", "lower", gap_bounds, f"{column.head} sd"),
    }
