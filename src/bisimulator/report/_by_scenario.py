"""Results in order: by scenario, then as the paper lists its methods, each with its label and style."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from bisimulator import published, registry
from bisimulator.core import Env, Values
from bisimulator.evaluation import seed_means
from bisimulator.jobs.labels import labels
from bisimulator.jobs.store import Result
from bisimulator.report._observation_dynamics import learned_omega
from bisimulator.report._styles import Style, style
from bisimulator.report._table_columns import paper_row, published_name, table_columns

_Position: TypeAlias = tuple[int, str]


@dataclasses.dataclass(frozen=True, eq=False)
class JobEntry:
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
        """The label for narrow places of a figure."""
        return self.label.replace("Bisimulator (Reward only)", "Bisim. (reward)").replace(
            "Bisimulator", "Bisim."
        )

    @property
    def paper(self) -> dict[str, published.Published]:
        return paper_row(self.result.spec)

    @cached_property
    def omega(self) -> Float[np.ndarray, "S G K"] | None:
        """The learned observation dynamics; None if the method leaves them as they are."""
        return learned_omega(self.result)

    def per_seed(self, column: str) -> Float[Values, "S"]:
        """Each seed's mean over its episodes; NaN where no episode defines it."""
        return seed_means(self.result.columns[column])


@dataclasses.dataclass(frozen=True, eq=False)
class ScenarioResults:
    """All jobs of one scenario."""

    name: str
    entries: tuple[JobEntry, ...]

    @cached_property
    def env(self) -> Env:
        """The environment of the first job."""
        return self.entries[0].result.spec.make_env()

    @cached_property
    def columns(self) -> list[str]:
        return table_columns(self.name, list(self.entries[0].result.columns))

    @property
    def gap_column(self) -> str:
        """The gap by which methods are compared first."""
        return f"{self.env.scenario.main_rate}_gap"

    def main_gap(self, entry: JobEntry) -> float:
        return entry.result.summary[self.gap_column][0]

    @cached_property
    def missing(self) -> list[str]:
        """Methods of the paper's table that have no result here."""
        here = {entry.published_name for entry in self.entries}
        return [method for method in published.methods(self.name) if method not in here]

    def find(self, published_name: str) -> JobEntry | None:
        """The first job of a method by its name in the paper."""
        return next((entry for entry in self.entries if entry.published_name == published_name), None)


def by_scenario(results: Sequence[Result]) -> list[ScenarioResults]:
    """The results of each scenario. The same job given twice counts once."""
    unique = {result.spec.name: result for result in results}
    names = sorted({r.spec.scenario for r in unique.values()}, key=_position(registry.names("environment")))
    return [
        ScenarioResults(name, _entries([r for r in unique.values() if r.spec.scenario == name]))
        for name in names
    ]


def _entries(results: Sequence[Result]) -> tuple[JobEntry, ...]:
    in_paper = _position(published.methods(results[0].spec.scenario))
    in_registry = _position(registry.names("method"))

    def position(result: Result) -> tuple[_Position, _Position, int, str]:
        method = result.spec.method
        # of several jobs of a method, the one with the most training comes first: the paper's row is compared with it
        return in_paper(published_name(method)), in_registry(method), -_effort(result), result.spec.name

    ordered = sorted(results, key=position)
    methods = [result.spec.method for result in ordered]
    written = labels([result.spec for result in ordered])
    return tuple(
        _entry(result, label, methods.count(result.spec.method) > 1)
        for result, label in zip(ordered, written, strict=True)
    )


def _entry(result: Result, label: str, ambiguous: bool) -> JobEntry:
    """The label has the method's name in the paper, and what differs from other jobs of the method."""
    method = result.spec.method
    differences = label.removeprefix(method)
    key = f"{method}-{result.spec.name.rpartition('-')[2]}" if ambiguous else method
    return JobEntry(result, key, f"{published_name(method) or method}{differences}")


def _effort(result: Result) -> int:
    return result.spec.steps * len(result.spec.seeds) - 10**12 * bool(result.spec.settings)


def _position(order: Iterable[str]) -> Callable[[str], _Position]:
    known = {name: i for i, name in enumerate(order)}
    return lambda name: (known.get(name, len(known)), name)
