"""Return against fairness: where each method stands, with its 95% intervals, and where the paper has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bisimulator.jobs.run import Result
from bisimulator.report._by_scenario import Scene, scenes
from bisimulator.report._table_columns import bounds, title
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures._labels import Labelled, label_points

HEIGHT = 3.4
RETURN = "average_return"


def draw(results: Sequence[Result]) -> dict[str, Any]:
    return {f"{scene.scenario}-tradeoff": _figure(scene) for scene in scenes(results)}


def gaps(scene: Scene) -> list[str]:
    """What is unfair here: the gap of recalls, and that of scores or of what people paid."""
    known = scene.entries[0].result.columns
    wanted = ["recall_gap", "credit_gap" if "credit_gap" in known else "social_burden_gap"]
    return [column for column in wanted if column in known]


def _figure(scene: Scene) -> Any:
    columns = gaps(scene)
    note = "With 95% intervals over seeds; up and to the left is better."
    if any(entry.paper for entry in scene.entries):
        note += " Hollow: the paper's numbers."
    with canvas.style():
        figure, axes = canvas.panels(
            1,
            len(columns),
            width=5.0,
            height=HEIGHT + 0.6,
            title=f"{scene.scenario}: return against fairness",
            note=note,
            sharey=True,
        )
        labels = [_panel(axis, scene, column) for axis, column in zip(axes[0], columns, strict=True)]
        axes[0, 0].set_ylabel(title(RETURN))
        for axis, points in zip(axes[0], labels, strict=True):
            label_points(axis, points)
    return figure


def _panel(axis: Any, scene: Scene, column: str) -> list[Labelled]:
    """Draws the points and gives what is to be labelled."""
    labels: list[Labelled] = []
    for entry in scene.entries:
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
