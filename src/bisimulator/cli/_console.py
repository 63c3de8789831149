"""Where commands print."""

from __future__ import annotations

from rich.console import Console

_WIDE = 1_000  # characters; wide enough for every table


def make_console() -> Console:
    """Standard output; if it is not a terminal, tables have their full width, so that nothing is cut."""
    console = Console()
    return console if console.is_terminal else Console(width=_WIDE)
