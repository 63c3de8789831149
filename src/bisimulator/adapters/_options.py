"""From what an environment says of itself and what a user asks for to the arguments of a `Corrector`."""

from __future__ import annotations

import dataclasses
from typing import Any

from bisimulator.errors import check_keywords
from bisimulator.methods.bisimulator import Config


def facts(ask: Any, num_groups: int | None) -> dict[str, Any]:
    """What an environment says of itself by the convention; `ask(name, default)` gives its attributes."""
    number = ask("num_groups", None) if num_groups is None else num_groups
    if number is None:
        raise ValueError(
            "the environment does not say how many groups there are; pass num_groups=, give the environment an "
            "attribute num_groups, or wrap it in WithGroups(env, group=..., num_groups=...)"
        )
    found = {"num_groups": number, "group_entries": ask("group_entries", ())}
    if ask("observation_params", None) is not None:
        found |= {"omega": ask("observation_params"), "bounds": ask("observation_params_bounds")}
    return found


def split_options(options: dict[str, Any], config: Config) -> dict[str, Any]:
    """A user's keywords as keywords of `Corrector`: fields of the configuration go into it."""
    fields = {field.name for field in dataclasses.fields(Config)}
    own = {"batch", "score", "reject", "seed"}
    check_keywords("the Bisimulator", options, fields | own)
    changed = dataclasses.replace(config, **{k: v for k, v in options.items() if k in fields})
    return {"config": changed, **{k: v for k, v in options.items() if k in own}}
