"""Jobs in words: what differs between them, and from the defaults."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from bisimulator.jobs.spec import Spec, default_view, make_spec

_GROUPS = ("settings", "solver", "config", "control")  # fields that hold several options
_CHOSEN = ("view", "goal")  # options on which the defaults of others depend
_ABSENT = "default"


def labels(specs: Sequence[Spec]) -> list[str]:
    """The method of each job and, among jobs of the same method and scenario, what was set differently.

    Goals that all differ are enough. What follows from the goal or the view is not repeated.
    """
    options = [_options(spec) for spec in specs]
    set_by_hand = {name for spec in specs for name in changed_options(spec)} | {*_CHOSEN}
    alike: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, spec in enumerate(specs):
        alike[spec.scenario, spec.method].append(i)
    written = [spec.method for spec in specs]
    for members in alike.values():
        names = dict.fromkeys(name for i in members for name in options[i] if name in set_by_hand)
        differing = [name for name in names if len({str(options[i].get(name)) for i in members}) > 1]
        if len({options[i]["goal"] for i in members}) == len(members) > 1:
            differing = ["goal"]
        for i in members:
            if differing:
                written[i] += f" ({_in_words({name: options[i].get(name, _ABSENT) for name in differing})})"
    return written


def changed_options(spec: Spec) -> dict[str, object]:
    """The options in which a job differs from the defaults of its method, view and goal: name -> value."""
    chosen = make_spec(spec.scenario, spec.method, view=spec.view, goal=spec.goal or None)
    defaults = _options(chosen) | {"view": default_view(spec.scenario, spec.method), "goal": ""}
    return {name: value for name, value in _options(spec).items() if value != defaults.get(name)}


def changes_in_words(spec: Spec) -> str:
    """`kappa 0.05, population 500`, or nothing if everything is at its default."""
    return _in_words(changed_options(spec))


def _in_words(options: Mapping[str, object]) -> str:
    return ", ".join(_one_in_words(name.rpartition(".")[2], value) for name, value in options.items())


def _one_in_words(name: str, value: object) -> str:
    return "no goal" if name == "goal" and not value else f"{name} {_short(value)}"


def _short(value: object) -> str:
    """Values that would fill a line are shown by their size."""
    if isinstance(value, list) and len(str(value)) > 24:
        return f"of {len(value)} values"
    return str(value)


def _options(spec: Spec) -> dict[str, object]:
    """Every option that a user can set, by name; how many seeds if they are the first ones."""
    stored = spec.to_dict()
    flat: dict[str, object] = {
        f"{group}.{name}": value for group in _GROUPS for name, value in (stored[group] or {}).items()
    }
    seeds = stored["seeds"]
    flat["seeds"] = len(seeds) if seeds == list(range(len(seeds))) else seeds
    return flat | {name: stored[name] for name in ("steps", "episodes", "greedy", "view", "goal")}
