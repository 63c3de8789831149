"""`bisimulator` and `python -m bisimulator`: the command line."""

from __future__ import annotations

import sys

from bisimulator._signals import STOPPED, leaving_at_stops, noticing_stops


def main() -> int:
    """Import the commands, which takes a second, and run one of them."""
    with leaving_at_stops():
        from bisimulator.cli.app import run_command
    try:
        with noticing_stops():
            return run_command(sys.argv[1:])
    except KeyboardInterrupt:  # in the moment before or after
        sys.stderr.write("bisimulator: stopped\n")
        return STOPPED


if __name__ == "__main__":
    sys.exit(main())
