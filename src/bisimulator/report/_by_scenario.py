"""Results put in order: by scenario, then as the paper lists its methods, each with its name and its look."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from bisimulator import published, registry
from bisimulator.evaluation import seed_means
from bisimulator.jobs.run import Result
from bisimulator.report._styles import Style, style
from bisimulator.report._table_columns import paper_row, published_name, table_columns


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """One job of a scenario. `key` is unique within it, `label` is what people read."""

    result: Result
    key: str
    label: str

    @cached_property
    def published_name(self) -> str:
        return published_name(self.result.spec.method)

    @cached_property
    def style(self) -> Style:
        return style(self.result.spec.method, self.published_name)

    @property
    def short(self) -> str:
        """For the narrow places of a figure."""
        return self.label.replace("Bisimulator (Reward only)", "Bisim. (reward)").replace(
            "Bisimulator", "Bisim."
        )

    @property
    def paper(self) -> dict[str, published.Published]:
        return paper_row(self.result.spec)

    @property
    def omega(self) -> np.ndarray | None:
        """(S, G, K) where the method changes the observation dynamics."""
        changes = getattr(self.result.spec.config, "dynamics_steps", 0)
        return self.result.learned.get("omega") if changes else None

    @property
    def reward_only(self) -> bool:
        return self.published_name.endswith("(Reward only)")

    def per_seed(self, column: str) -> np.ndarray:
        """Each seed's mean over its episodes (S,); NaN where no episode defines it."""
        return seed_means(self.result.columns[column])


@dataclasses.dataclass(frozen=True, eq=False)
class Scene:
    scenario: str
    entries: tuple[Entry, ...]

    @cached_property
    def columns(self) -> list[str]:
        return table_columns(self.scenario, list(self.entries[0].result.columns))

    @cached_property
    def missing(self) -> list[str]:
        """Methods of the paper's table of which there is no result here."""
        here = {entry.published_name for entry in self.entries}
        return [method for method in published.methods(self.scenario) if method not in here]

    def find(self, name: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.published_name == name), None)


def scenes(results: Sequence[Result]) -> list[Scene]:
    """The same job given twice counts once; jobs of one method that differ are told apart by their hash."""
    unique = {result.spec.name: result for result in results}
    names = sorted({r.spec.scenario for r in unique.values()}, key=_place(registry.names("environment")))
    return [Scene(name, _entries([r for r in unique.values() if r.spec.scenario == name])) for name in names]


def _entries(results: Sequence[Result]) -> tuple[Entry, ...]:
    paper, registered = _place(published.methods(results[0].spec.scenario)), _place(registry.names("method"))

    def place(result: Result) -> tuple[Any, ...]:
        method = result.spec.method
        # of jobs that differ the one with the most training comes first: it stands beside the paper's row
        return paper(published_name(method)), registered(method), -_effort(result), result.spec.name

    ordered = sorted(results, key=place)
    methods = [result.spec.method for result in ordered]
    return tuple(_entry(result, methods.count(result.spec.method) > 1) for result in ordered)


def _entry(result: Result, ambiguous: bool) -> Entry:
    method = result.spec.method
    label = published_name(method) or method
    if not ambiguous:
        return Entry(result, method, label)
    mark = result.spec.name.rsplit("-", 1)[1]
    return Entry(result, f"{method}-{mark}", f"{label} [{mark[:4]}]")


def _effort(result: Result) -> int:
    return result.spec.steps * len(result.spec.seeds) - 10**12 * bool(result.spec.settings)


def _place(order: Iterable[str]) -> Callable[[str], tuple[int, str]]:
    known = {name: i for i, name in enumerate(order)}
    return lambda name: (known.get(name, len(known)), name)
