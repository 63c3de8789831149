"""Metrics: numbers per group from an episode's `Outcome`, then numbers over all groups."""

from __future__ import annotations

from bisimulator import registry
from bisimulator.core import Column, Metric

__all__ = ["column", "registered_metrics"]


def registered_metrics() -> list[Metric]:
    """All metrics, in the order of the registry."""
    return [registry.lookup("metric", name) for name in registry.names("metric")]


def column(name: str) -> Column:
    """How the column `name` of an evaluation is presented, as the metric that computes it declares."""
    for metric in registered_metrics():
        found = metric.column(name)
        if found is not None:
            return found
    raise KeyError(f"no metric has a column {name!r}")
