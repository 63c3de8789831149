"""Where commands and progress are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.text import Text

from bisimulator._text import printable

_WIDE = 1_000  # characters; wide enough for every table


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
