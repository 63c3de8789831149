"""Options that stand twice: those that take any number of values add up, the others are refused."""

from __future__ import annotations

from collections.abc import Sequence

_ADD_UP = ("--set", "--goal")


def join_repeated(arguments: Sequence[str]) -> list[str]:
    """The arguments with every option at most once; otherwise all but the last one would be dropped silently."""
    options: dict[str, list[str]] = {
        "": []
    }  # option -> the arguments that belong to it; "": those before the first
    name = ""
    for argument in arguments:
        if not argument.startswith("--"):
            options[name].append(argument)
            continue
        written, equals, value = argument.partition("=")
        name = _canonical(written)
        if name not in options:
            options[name] = [argument]
        elif name in _ADD_UP:
            options[name] += [value] if equals else []
        else:
            raise ValueError(f"{written} stands twice; write it once, with all of its values")
    return [argument for group in options.values() for argument in group]


def _canonical(option: str) -> str:
    """`--no-group_blind` and `--group-blind` set the same option."""
    *path, name = option.removeprefix("--").replace("_", "-").split(".")
    return "--" + ".".join([*path, name.removeprefix("no-")])
