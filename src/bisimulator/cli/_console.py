"""Where commands print."""

from __future__ import annotations

from bisimulator.report.console import make_console

__all__ = ["make_console"]
