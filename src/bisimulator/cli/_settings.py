"""`--set NAME=VALUE` or `--set @FILE`: parameters of a scenario from the command line."""

from __future__ import annotations

import ast
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

Settings = Annotated[tuple[str, ...], tyro.conf.arg(name="set", metavar="NAME=VALUE ...")]


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """`population=500` as {"population": 500}; values are Python literals: numbers, lists, None.

    `@people.json` takes all settings of a JSON file, such as `bisimulator population` writes.
    """
    parsed: dict[str, Any] = {}
    typed: set[str] = set()  # which may differ from a file that stands before
    for setting in settings:
        if setting.startswith("@"):
            parsed |= _read_settings(Path(setting[1:]))
            continue
        name, equals, text = setting.partition("=")
        if not equals or not name:
            raise ValueError(f"settings look like name=value, got {setting!r}; try population=500")
        if name in typed:
            raise ValueError(f"--set has {name} twice; write it once")
        typed.add(name)
        try:
            parsed[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            raise ValueError(
                f"{name} must be a number or a list of numbers, got {text!r}; try {name}=0.5 or '{name}=[0.5, 0.5]'"
            ) from None
    return parsed


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}; write --set @FILE") from None
    except (ValueError, RecursionError):  # not JSON, or not UTF-8
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"{path} must hold settings as a JSON object, such as bisimulator population writes")
    return found
