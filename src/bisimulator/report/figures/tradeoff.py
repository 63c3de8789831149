"""Return against fairness: each method with its 95% intervals, and the paper's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bisimulator.jobs.store import Result
from bisimulator.report._by_scenario import ScenarioResults, by_scenario
from bisimulator.report._table_columns import bounds, title
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures._labels import Labelled, label_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 3.4
RETURN = "average_return"


def draw(results: Sequence[Result]) -> dict[str, Figure]:
    """`SCENARIO-tradeoff` for every scenario."""
    return {f"{scenario.name}-tradeoff": _figure(scenario) for scenario in by_scenario(results)}


def gaps(scenario: ScenarioResults) -> list[str]:
    """The measures of unfairness: the gap of recalls, and that of credit scores or of social burdens."""
    known = scenario.entries[0].result.columns
    measures = ["recall_gap", "credit_gap" if "credit_gap" in known else "social_burden_gap"]
    return [column for column in measures if column in known]


def _figure(scenario: ScenarioResults) -> Figure:
    columns = gaps(scenario)
    note = "With 95% intervals over seeds; up and to the left is better."
    if any(entry.paper for entry in scenario.entries):
        note += " Hollow: the paper's numbers."
    with canvas.style():
        figure, axes = canvas.panels(
            1,
            len(columns),
            width=5.0,
            height=HEIGHT + 0.6,
            title=f"{scenario.name}: return against fairness",
            note=note,
            sharey=True,
        )
        labels = [_panel(axis, scenario, column) for axis, column in zip(axes[0], columns, strict=True)]
        axes[0, 0].set_ylabel(title(RETURN))
        for axis, points in zip(axes[0], labels, strict=True):
            label_points(axis, points)
    return figure


def _panel(axis: Axes, scenario: ScenarioResults, column: str) -> list[Labelled]:
    """Draw the points; returns what has to be labelled."""
    labels: list[Labelled] = []
    for entry in scenario.entries:
        (x, x_half), (y, y_half) = entry.result.summary[column], entry.result.summary[RETURN]
        if np.isnan([x, y]).any():
            continue
        x_half, y_half = np.nan_to_num((x_half, y_half))
        if column in entry.paper:
            theirs = entry.paper[column].mean, entry.paper[RETURN].mean
            axis.plot(*theirs, **canvas.hollow(entry))
            labels.append(Labelled(*theirs))
        axis.errorbar(x, y, y_half, x_half, elinewidth=1, capsize=0, **canvas.point(entry))
        labels.append(Labelled(x, y, x_half, y_half, entry.short, entry.style.colour))
    axis.set_xlim(
        canvas.limits([point.x for point in labels], [point.x_half for point in labels], bounds(column))
    )
    axis.set_ylim(canvas.limits([point.y for point in labels], [point.y_half for point in labels]))
    axis.set_xlabel(title(column))
    return labels
