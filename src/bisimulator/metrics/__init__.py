"""Metrics: numbers per group from the `Outcome` of an episode, and numbers over all groups."""

from __future__ import annotations

from bisimulator import registry
from bisimulator.core import Column, Metric

__all__ = ["column", "registered_metrics"]


def registered_metrics() -> list[Metric]:
    """All registered metrics, in order of registration."""
    return [registry.lookup("metric", name) for name in registry.names("metric")]


def column(name: str) -> Column:
    """Title, direction and bounds of a column of an evaluation, as its metric declares them.

    Raises:
        KeyError: if no registered metric has the column.

    Example:
        >>> column("recall_gap").direction
        'lower'
    """
    for metric in registered_metrics():
        declared = metric.column(name)
        if declared is not None:
            return declared
    raise KeyError(f"no metric has a column {name!r}")
