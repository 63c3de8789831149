"""Many groups: the recall of each, and mean, spread and gap over them, method by method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bisimulator.jobs.run import Result
from bisimulator.report._by_scenario import Scene, scenes
from bisimulator.report._table_columns import heading
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures import _labels as labels

HEIGHT = 2.6
MANY = 3  # groups; two are told apart in the tables
_OVER_GROUPS = ("recall_mean", "recall_sd", "recall_gap")


def draw(results: Sequence[Result]) -> dict[str, Any]:
    """For scenarios with more than two groups."""
    found = {}
    for scene in scenes(results):
        groups = scene.entries[0].result.spec.make_env().num_groups
        if groups >= MANY:
            found[f"{scene.scenario}-groups"] = _figure(scene, groups)
    return found


def _figure(scene: Scene, groups: int) -> Any:
    note = "After the training, with 95% intervals over seeds."
    if any(entry.paper for entry in scene.entries):
        note += " Hollow: the paper's numbers."
    with canvas.style():
        figure, axes = canvas.panels(
            1,
            1 + len(_OVER_GROUPS),
            width=3.0,
            height=HEIGHT + 0.6,
            title=f"{scene.scenario}: recall of each group",
            note=note,
            width_ratios=(2.4, 1, 1, 1),
        )
        _each(axes[0, 0], scene, groups)
        for axis, column in zip(axes[0, 1:], _OVER_GROUPS, strict=True):
            _over(axis, scene, column)
        axes[0, 1].set_yticks(range(len(scene.entries)), [entry.short for entry in scene.entries])
    return figure


def _each(axis: Any, scene: Scene, groups: int) -> None:
    numbers, ends = np.arange(1, groups + 1), []
    for entry in scene.entries:
        mean, half = np.array([entry.result.summary[f"recall_g{g}"] for g in numbers]).T
        canvas.shade(axis, entry, numbers, mean, half)
        size = canvas.marker_size(4, groups)
        axis.plot(numbers, mean, **canvas.line(entry), marker=entry.style.marker, markersize=size)
        ends.append((float(mean[-1]), entry.short, entry.style.colour))
    canvas.group_axis(axis, groups)
    axis.set_ylim(0, 1.05)
    axis.set_title("Recall")
    labels.label_ends(axis, [end for end in ends if not np.isnan(end[0])], HEIGHT)


def _over(axis: Any, scene: Scene, column: str) -> None:
    """A row a method."""
    for row, entry in enumerate(scene.entries):
        mean, half = entry.result.summary[column]
        if column in entry.paper:
            axis.plot(entry.paper[column].mean, row + 0.18, **canvas.hollow(entry))
        axis.errorbar(mean, row, None, np.nan_to_num(half), elinewidth=1, **canvas.point(entry))
    axis.set_title(heading(column))
    axis.set_yticks(range(len(scene.entries)), [""] * len(scene.entries))
    axis.set_ylim(len(scene.entries) - 0.5, -0.5)
    axis.margins(x=0.12)
