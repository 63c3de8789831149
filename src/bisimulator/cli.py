"""The command line: it parses, calls one function of `report` or `experiments`, and turns errors into messages.

A subcommand is a function below and a line in `COMMANDS`. What is slow to import is imported inside it.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import tyro
from rich.console import Console

from bisimulator import __version__
from bisimulator.errors import check_known


def list_names() -> None:
    """Environments, methods and metrics, one line each."""
    from bisimulator.report.listing import show_registry

    show_registry(Console())


def simulate(
    scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
    policies: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="POLICY ...")],
    seeds: int = 10,
    episodes: int = 5,
    settings: Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE ...")] = (),
    next_to: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="METHOD ...")] = None,
) -> None:
    """Fixed policies on a scenario: results of each group, next to the paper's.

    Args:
      scenario: an environment of `bisimulator list`.
      policies: one or more of accept-all, reject-all, threshold.
      seeds: independent repetitions; the intervals are over them.
      episodes: episodes of each seed.
      settings: parameters of the scenario, such as population=500.
      next_to: published methods to show; all by default.
    """
    if not policies:
        raise ValueError("got no policy; name one or more, such as accept-all threshold")
    from bisimulator.report.simulation import show_simulation

    show_simulation(
        scenario,
        policies,
        settings=parse_settings(settings),
        seeds=seeds,
        episodes=episodes,
        next_to=next_to,
        console=Console(),
    )


COMMANDS: dict[str, Callable[..., None]] = {"list": list_names, "simulate": simulate}


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """`population=500` as {"population": 500}; values are Python literals: numbers, lists, None."""
    parsed = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise ValueError(f"settings look like name=value, got {setting!r}; try population=500")
        try:
            parsed[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            raise ValueError(
                f"{name} must be a number or a list of numbers, got {text!r}; try {name}=0.5 or '{name}=[0.5, 0.5]'"
            ) from None
    return parsed


def main(argv: Sequence[str] | None = None) -> int:
    """0: done, 2: the user's input was wrong (a message, no traceback unless BISIMULATOR_TRACEBACK is set)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        print(f"bisimulator {__version__}")
        return 0
    try:
        if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
            check_known("command", arguments[0], COMMANDS)
        tyro.extras.subcommand_cli_from_dict(
            COMMANDS, prog="bisimulator", description="Long-term group fairness.", args=arguments
        )
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, TypeError) as error:
        if os.environ.get("BISIMULATOR_TRACEBACK"):
            raise
        print(f"bisimulator: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
