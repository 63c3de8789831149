"""Return against fairness: each method with its 95% intervals, the paper's numbers, accept-all and the frontier."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bisimulator.core import Values
from bisimulator.jobs.references import ACCEPT_ALL, Reference
from bisimulator.jobs.store import Result
from bisimulator.report._by_scenario import ScenarioResults, by_scenario
from bisimulator.report._styles import style
from bisimulator.report._table_columns import bounds, title
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures._labels import Labelled, label_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 3.4
RETURN = "average_return"
_SAMPLES = 60  # of the frontier, next to which no label is written


def draw(results: Sequence[Result], references: Mapping[str, Reference] | None = None) -> dict[str, Figure]:
    """`SCENARIO-tradeoff` for every scenario."""
    known = references or {}
    return {
        f"{scenario.name}-tradeoff": _figure(scenario, known.get(scenario.name, Reference()))
        for scenario in by_scenario(results)
    }


def gaps(scenario: ScenarioResults) -> list[str]:
    """The measures of unfairness: the gap of the main rate, and that of credit scores or of social burdens."""
    known = scenario.entries[0].result.columns
    measures = [scenario.gap_column, "credit_gap" if "credit_gap" in known else "social_burden_gap"]
    return [column for column in measures if column in known]


def notes(columns: Sequence[str], reference: Reference) -> list[str]:
    """Sentences about accept-all and the frontier, and about what is missing of them."""
    sentences = []
    if reference.accept_all:
        exact = reference.accept_all[RETURN][1] == 0
        sentences.append(f"{ACCEPT_ALL} was not among the jobs; its values are {_HOW[exact]}.")
    shown = [title(column) for column in columns if column in reference.frontiers]
    if shown:
        sentences.append(f"Line: no policy has a higher expected return at that {' or '.join(shown)}.")
    for column in columns:
        if column in reference.left_out:
            sentences.append(f"No frontier of the {title(column)}: {reference.left_out[column]}.")
    return sentences


_HOW = {True: "exact", False: "simulated in the same episodes"}


def frontier_line(
    reference: Reference, column: str, right: float
) -> tuple[Float[Values, "L"], Float[Values, "L"]] | None:
    """The frontier, flat from where the demand stops binding to the right end of the axis; None if there is none."""
    if column not in reference.frontiers:
        return None
    levels, values = reference.frontiers[column]
    return np.append(levels, max(right, levels[-1])), np.append(values, values[-1])


def _figure(scenario: ScenarioResults, reference: Reference) -> Figure:
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
            note="\n".join([note, *notes(columns, reference)]),
            sharey=True,
        )
        panels = list(zip(axes[0], columns, strict=True))
        labels = [_points(axis, scenario, column, reference) for axis, column in panels]
        heights = [
            _limits(axis, column, points, reference)
            for (axis, column), points in zip(panels, labels, strict=True)
        ]
        axes[0, 0].set_ylim(min(low for low, _ in heights), max(high for _, high in heights))
        axes[0, 0].set_ylabel(title(RETURN))
        for (axis, column), points in zip(panels, labels, strict=True):
            label_points(axis, points, _on_frontier(axis, column, reference))
    return figure


def _on_frontier(axis: Axes, column: str, reference: Reference) -> list[Labelled]:
    """Points close together, so that labels keep clear of the line."""
    at = np.linspace(*axis.get_xlim(), _SAMPLES)
    line = frontier_line(reference, column, at[-1])
    if line is None:
        return []
    values = np.interp(at, *line, left=np.nan)
    return [Labelled(float(x), float(y)) for x, y in zip(at, values, strict=True) if not np.isnan(y)]


def _points(axis: Axes, scenario: ScenarioResults, column: str, reference: Reference) -> list[Labelled]:
    """Draw the points; returns what has to be labelled."""
    labels: list[Labelled] = []
    for entry in scenario.entries:
        if column in entry.paper:
            theirs = entry.paper[column].mean, entry.paper[RETURN].mean
            axis.plot(*theirs, **canvas.hollow(entry.style))
            labels.append(Labelled(*theirs))
    shown = [(entry.short, entry.style, entry.result.summary) for entry in scenario.entries]
    if column in reference.accept_all:
        shown.append((ACCEPT_ALL, style(ACCEPT_ALL), dict(reference.accept_all)))
    for name, look, summary in shown:
        (x, x_half), (y, y_half) = summary[column], summary[RETURN]
        if np.isnan([x, y]).any():
            continue
        x_half, y_half = np.nan_to_num((x_half, y_half))
        axis.errorbar(x, y, y_half, x_half, elinewidth=1, capsize=0, **canvas.point(look))
        labels.append(Labelled(x, y, x_half, y_half, name, look.colour))
    return labels


def _limits(axis: Axes, column: str, labels: Sequence[Labelled], reference: Reference) -> tuple[float, float]:
    """Set the axis's width, draw the frontier in it, and return the height that shows all points.

    The frontier counts only above the points: it may fall off steeply beside them.
    """
    x, y = [point.x for point in labels], [point.y for point in labels]
    axis.set_xlim(canvas.limits(x, [point.x_half for point in labels], bounds(column)))
    axis.set_xlabel(title(column))
    halves = [point.y_half for point in labels]
    line = frontier_line(reference, column, axis.get_xlim()[1])
    if line is not None:
        axis.plot(*line, color=canvas.INK, linewidth=1.3, zorder=1)
        above = np.interp(x, *line)
        y, halves = [*y, *above], [*halves, *np.zeros_like(above)]
    return canvas.limits(y, halves)
