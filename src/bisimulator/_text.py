"""Names of groups, files and columns as text that a terminal does not obey."""

from __future__ import annotations

import re

# escape sequences of terminals (colours, cursor, titles, links), control characters, and marks that turn text around
_NOT_TEXT = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_].*?(?:\x07|\x1b\\\\|$)|\x1b[@-_]?"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]",
    re.DOTALL,
)


def printable(text: object) -> str:
    """Text without what a terminal would obey: names of groups and files are data."""
    return _NOT_TEXT.sub("", str(text))
