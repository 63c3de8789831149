"""`bisimulator` and `python -m bisimulator`: the command line."""

from __future__ import annotations

import sys

from bisimulator._signals import noticing_stops, stopped


def main() -> int:
    """Import the commands, which takes a second, and run one of them."""
    with noticing_stops():
        try:
            from bisimulator.cli.app import run_command

            if stopped.is_set():
                raise KeyboardInterrupt
            return run_command(sys.argv[1:])
        except KeyboardInterrupt:
            sys.stderr.write("bisimulator: stopped\n")
            return 130


if __name__ == "__main__":
    sys.exit(main())
