"""`bisimulator` and `python -m bisimulator`: the command line."""

from __future__ import annotations

import sys
import warnings

from bisimulator._signals import STOPPED, leaving_at_stops, noticing_stops
from bisimulator._text import printable


def show_warning(message: Warning | str, *where: object, **more: object) -> None:
    """A sentence like every other message: without a line of the source, and without what a terminal would obey."""
    sys.stderr.write(f"bisimulator: warning: {' '.join(printable(message).split())}\n")


def main() -> int:
    """Import the commands, which takes a second, and run one of them."""
    with leaving_at_stops():
        from bisimulator.cli.app import run_command
    warnings.showwarning = show_warning
    try:
        with noticing_stops():
            return run_command(sys.argv[1:])
    except KeyboardInterrupt:  # in the moment before or after
        sys.stderr.write("bisimulator: stopped\n")
        return STOPPED


if __name__ == "__main__":
    sys.exit(main())
