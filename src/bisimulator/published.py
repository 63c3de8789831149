"""The numbers that papers report, for comparison.

The paper: Rezaei-Shoshtari, Yurchyk, Fujimoto, Precup and Meger, "Fairness in Reinforcement Learning with Bisimulation
Metrics", arXiv:2412.17123 (2024). `data/published.csv` has the 186 numbers of its four result tables, in the order of
the paper, as means with half-widths of 95% confidence intervals, under the column names of `bisimulator.evaluate`.

The field's other papers have a file each, `data/published_PAPER.csv`, under the same column names, with the source of
each number and, if it was read off a figure, its relative reading error (`points`). Every number is also only known to
half a unit of the last digit that is printed.
"""

from __future__ import annotations

import csv
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import NamedTuple

_SIMULATION = "simulation with the published parameters"


class Published(NamedTuple):
    """A number of the paper's tables.

    Example:
        >>> published.row("lending", "PPO")["recall_gap"]
        Published(mean=0.54, ci95=0.06)
    """

    mean: float
    ci95: float  # half-width of the 95% confidence interval


@cache
def results() -> dict[tuple[str, str, str], Published]:
    """All numbers: (scenario, method, metric) -> (mean, ci95)."""
    text = resources.files("bisimulator").joinpath("data/published.csv").read_text(encoding="utf-8")
    return {
        (row["scenario"], row["method"], row["metric"]): Published(float(row["mean"]), float(row["ci95"]))
        for row in csv.DictReader(text.splitlines())
    }


def methods(scenario: str) -> list[str]:
    """The methods that the paper reports for a scenario, in its order; empty for other scenarios."""
    return list(dict.fromkeys(method for name, method, _ in results() if name == scenario))


def row(scenario: str, method: str) -> dict[str, Published]:
    """One row of a table: metric -> (mean, ci95)."""
    return {metric: value for (s, m, metric), value in results().items() if (s, m) == (scenario, method)}


class Point(NamedTuple):
    """A number of another paper.

    Example:
        >>> published.points("elbert")["attention-harder", "ELBERT-PO", "benefit_rate_bias"].mean
        0.037
    """

    mean: float
    reading_error: float  # relative; 0 if the number is printed
    source: str
    rounding: float = 0.0  # half a unit of the last digit

    @property
    def error(self) -> float:
        """How far the number may be off, in its own unit."""
        return max(self.reading_error * abs(self.mean), self.rounding)

    @property
    def simulated(self) -> bool:
        """Whether it is not printed anywhere, but comes from an independent simulation of the paper's environment."""
        return self.source == _SIMULATION


@cache
def points(paper: str) -> dict[tuple[str, str, str], Point]:
    """The numbers of another paper: (scenario, method as the paper calls it, metric) -> the number."""
    text = resources.files("bisimulator").joinpath(f"data/published_{paper}.csv").read_text(encoding="utf-8")
    return {
        (row["scenario"], row["method"], row["metric"]): Point(
            float(row["mean"]), float(row["reading_error"]), row["source"], _half_a_unit(row["mean"])
        )
        for row in csv.DictReader(text.splitlines())
    }


def _half_a_unit(printed: str) -> float:
    """Half a unit of the last digit: 0.005 of "0.21"."""
    exponent = Decimal(printed).as_tuple().exponent
    return 0.5 * 10.0 ** int(exponent)
