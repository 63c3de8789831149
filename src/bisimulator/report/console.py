"""Where commands and progress are printed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.text import Text

_WIDE = 1_000  # characters; wide enough for every table
# escape sequences of terminals (colours, cursor, titles, links), control characters, and marks that turn text around
_NOT_TEXT = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_].*?(?:\x07|\x1b\\\\|$)|\x1b[@-_]?"
    "|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]",
    re.DOTALL,
)


def printable(text: object) -> str:
    """Text without what a terminal would obey: names of groups and files are data."""
    return _NOT_TEXT.sub("", str(text))


class SafeConsole(Console):
    """A console on which data cannot move the cursor, change colours or hide text."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


@contextmanager
def shown_share(console: Console, what: str) -> Iterator[Callable[[float], None]]:
    """A function that shows on a terminal how much of some work is done, and nothing where there is none."""
    with console.status(f"{what}: 0%") as status:
        yield lambda share: status.update(f"{what}: {share:.0%}")


def make_console(*, stderr: bool = False) -> Console:
    """A terminal; if it is none, tables have their full width, so that nothing is cut."""
    console = SafeConsole(stderr=stderr)
    return console if console.is_terminal else SafeConsole(stderr=stderr, width=_WIDE)
