"""`bisimulator list`: environments, methods and metrics."""

from __future__ import annotations

from typing import get_args

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator import registry


def print_registry(console: Console) -> None:
    """Print every registered name with its summary."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("kind", "name", "summary"):
        table.add_column(title, no_wrap=title != "summary")
    for kind in get_args(registry.Kind):
        for i, name in enumerate(registry.names(kind)):
            table.add_row(kind if i == 0 else "", escape(name), escape(registry.lookup(kind, name).summary))
        table.add_section()
    console.print(table)
