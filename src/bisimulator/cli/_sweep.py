"""`--method.NAME VALUE ...` and `--solver.NAME VALUE ...` of `compare`: the values of options to try."""

from __future__ import annotations

import ast
from collections.abc import Sequence

Sweep = dict[str, list[object]]  # option -> values


def split_sweep(arguments: Sequence[str]) -> tuple[list[str], Sweep, Sweep]:
    """The other arguments, the options of the methods and those of their solvers."""
    rest: list[str] = []
    sweeps: dict[str, Sweep] = {"method": {}, "solver": {}}
    values: list[object] | None = None
    for argument in arguments:
        kind, dot, name = argument.removeprefix("--").partition(".")
        if argument.startswith("--") and dot and kind in sweeps:
            name, equals, value = name.partition("=")
            option = name.replace("-", "_")
            if option in sweeps[kind]:
                raise ValueError(f"--{kind}.{name} stands twice; write all of its values after one of them")
            values = sweeps[kind].setdefault(option, [])
            if equals:
                values.append(_value(value))
        elif values is not None and not argument.startswith("--"):
            values.append(_value(argument))
        else:
            values = None
            rest.append(argument)
    for kind, sweep in sweeps.items():
        for option, tried in sweep.items():
            if not tried:
                raise ValueError(
                    f"--{kind}.{option} needs at least one value, such as --{kind}.{option} 0 0.1"
                )
    return rest, sweeps["method"], sweeps["solver"]


def _value(text: str) -> object:
    """A Python literal (number, tuple, True, None), or the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return text
