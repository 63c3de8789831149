"""`--set NAME=VALUE`: parameters of a scenario from the command line."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Annotated, Any

import tyro

Settings = Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE ...")]


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
