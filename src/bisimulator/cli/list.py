"""`bisimulator list`."""

from __future__ import annotations

from rich.console import Console


def list_names() -> None:
    """Environments, methods and metrics, one line each."""
    from bisimulator.report.registry_table import show_registry

    show_registry(Console())
