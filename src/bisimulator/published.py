"""The numbers that the paper reports, to stand beside ours.

Source: Rezaei-Shoshtari, Yurchyk, Fujimoto, Precup and Meger, "Fairness in Reinforcement Learning with Bisimulation
Metrics", ICLR 2025: the 186 numbers of its four result tables, as means with half widths of 95% confidence intervals.
`data/published.csv` holds them in the order of the paper, with the names of `bisimulator.evaluate`'s metrics.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple


class Published(NamedTuple):
    mean: float
    ci95: float


@cache
def results() -> dict[tuple[str, str, str], Published]:
    """(scenario, method, metric) -> (mean, ci95)."""
    text = resources.files("bisimulator").joinpath("data/published.csv").read_text(encoding="utf-8")
    return {
        (row["scenario"], row["method"], row["metric"]): Published(float(row["mean"]), float(row["ci95"]))
        for row in csv.DictReader(text.splitlines())
    }


def methods(scenario: str) -> list[str]:
    """The methods that the paper reports for a scenario, in its order; none for a scenario it does not have."""
    return list(dict.fromkeys(method for name, method, _ in results() if name == scenario))


def row(scenario: str, method: str) -> dict[str, Published]:
    """One row of a table: metric -> (mean, ci95)."""
    return {metric: value for (s, m, metric), value in results().items() if (s, m) == (scenario, method)}
