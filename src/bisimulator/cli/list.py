"""`bisimulator list`."""

from __future__ import annotations

from bisimulator.cli._console import make_console


def list_names() -> None:
    """Environments, methods and metrics, one line each."""
    from bisimulator.report.registry_table import print_registry

    print_registry(make_console())
