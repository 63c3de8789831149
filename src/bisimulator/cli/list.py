"""`bisimulator list`."""

from __future__ import annotations

from bisimulator.cli._console import make_console


def list_names() -> None:
    """List all environments, methods and metrics (a second)."""
    from bisimulator.report.registry_table import print_registry

    print_registry(make_console())
