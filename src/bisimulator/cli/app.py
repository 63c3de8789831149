"""The command line: it parses, calls the library, and turns errors into messages and exit codes.

A command is a file in this package and a line in `COMMANDS`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import tyro

from bisimulator import __version__
from bisimulator._signals import noticing_stops
from bisimulator._text import printable
from bisimulator.cli._repeated import join_repeated
from bisimulator.cli._sweep import split_sweep
from bisimulator.cli.audit import audit
from bisimulator.cli.certify import certify
from bisimulator.cli.compare import make_compare
from bisimulator.cli.frontier import frontier
from bisimulator.cli.list import list_names
from bisimulator.cli.population import population
from bisimulator.cli.report import report
from bisimulator.cli.reproduce import reproduce
from bisimulator.cli.runs import runs
from bisimulator.cli.simulate import simulate
from bisimulator.cli.train import make_train
from bisimulator.errors import TOO_LARGE, Interrupted, JobsFailed, check_known, explain

COMMANDS: dict[str, Callable[..., None]] = {
    "list": list_names,
    "simulate": simulate,
    "compare": make_compare(),
    "reproduce": reproduce,
    "report": report,
    "runs": runs,
    "certify": certify,
    "frontier": frontier,
    "audit": audit,
    "population": population,
}
_SHOWN_METHOD = "ppo-bisimulator"  # whose options `train --help` shows if no method is named


def command_for(name: str, arguments: Sequence[str]) -> tuple[Callable[..., None], list[str]]:
    """The command and its arguments; `train` has the options of the method that is named, `compare` those to try."""
    if name == "compare":
        rest, sweep, solver_sweep = split_sweep(arguments)
        return make_compare(sweep, solver_sweep), rest
    if name != "train":
        return COMMANDS[name], list(arguments)
    from bisimulator import registry

    named = [a for a in arguments if a in registry.names("method")]
    words = [a for a in arguments[:2] if not a.startswith("-")]  # an unknown name gets its "did you mean"
    return make_train([*named, *words[1:], _SHOWN_METHOD][0], arguments), list(arguments)


def main(argv: Sequence[str] | None = None) -> int:
    """`run_command`, in which SIGTERM does what Ctrl-C does."""
    with noticing_stops():
        return run_command(list(sys.argv[1:] if argv is None else argv))


def run_command(arguments: Sequence[str]) -> int:
    """0: done; 1: an error of the machine; 2: wrong input; 3: some jobs failed; 130: stopped by Ctrl-C or SIGTERM.

    Errors are messages without a traceback unless BISIMULATOR_TRACEBACK is set.
    """
    arguments = list(arguments)
    if arguments == ["--version"]:
        print(f"bisimulator {__version__}")
        return 0
    try:
        if arguments and not arguments[0].startswith("-"):
            check_known("command", arguments[0], [*COMMANDS, "train"])
            name, *rest = arguments
            command, rest = command_for(name, join_repeated(rest))
            tyro.cli(command, prog=f"bisimulator {name}", args=rest)
        else:  # help, or a reminder that a command is missing
            commands = {**COMMANDS, "train": make_train(_SHOWN_METHOD)}
            tyro.extras.subcommand_cli_from_dict(
                commands,
                prog="bisimulator",
                description="Long-term group fairness in reinforcement learning.",
                args=arguments,
            )
    except KeyboardInterrupt:
        print("bisimulator: stopped", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, TypeError, ImportError, FloatingPointError, Interrupted, JobsFailed) as error:
        if os.environ.get("BISIMULATOR_TRACEBACK"):
            raise
        print(f"bisimulator: {_as_typed(printable(error), arguments)}", file=sys.stderr)
        return 130 if isinstance(error, Interrupted) else 3 if isinstance(error, JobsFailed) else 2
    except (OSError, *TOO_LARGE) as error:  # a full disk, a folder that may not be written, too little memory
        if os.environ.get("BISIMULATOR_TRACEBACK"):
            raise
        print(f"bisimulator: {printable(explain(error))}", file=sys.stderr)
        return 1
    return 0


def _as_typed(message: str, arguments: Sequence[str]) -> str:
    """A message that begins with the name of an option that was given begins with the option."""
    name, space, rest = message.partition(" ")
    option = f"--{name.replace('_', '-')}"
    given = {argument.partition("=")[0].replace("_", "-") for argument in arguments}
    return f"{option}{space}{rest}" if option in given else message


if __name__ == "__main__":
    sys.exit(main())
