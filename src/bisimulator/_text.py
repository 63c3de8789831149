"""Plain text for terminals: aligned columns, and names of groups, files and columns without escapes."""

from __future__ import annotations

import re
from collections.abc import Sequence

# escape sequences of terminals (colours, cursor, titles, links), control characters, and marks that turn text around
_NOT_TEXT = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_].*?(?:\x07|\x1b\\\\|$)|\x1b[@-_]?"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]",
    re.DOTALL,
)


def printable(text: object) -> str:
    """Text without what a terminal would obey: names of groups and files are data."""
    return _NOT_TEXT.sub("", str(text))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line per row, with the cells of a column below each other: names to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_padded(row, widths)) for row in rows]


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True))]
