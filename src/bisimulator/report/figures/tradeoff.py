"""Return against fairness: where each method stands, with its 95% intervals, and where the paper has it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bisimulator.experiments.run import Result
from bisimulator.report.columns import title
from bisimulator.report.figures import canvas
from bisimulator.report.scenes import Scene, scenes

HEIGHT = 3.4


def draw(results: Sequence[Result]) -> dict[str, Any]:
    return {f"{scene.scenario}-tradeoff": _figure(scene) for scene in scenes(results)}


def gaps(scene: Scene) -> list[str]:
    """What is unfairness here: the gaps of the scenario's table; else the recall gap."""
    known = scene.entries[0].result.columns
    wanted = ["recall_gap", "credit_gap" if "credit_gap" in known else "social_burden_gap"]
    return [column for column in wanted if column in known]


def _figure(scene: Scene) -> Any:
    columns = gaps(scene)
    with canvas.style():
        heading = f"{scene.scenario}: return against fairness"
        figure, axes = canvas.panels(
            1, len(columns), width=5.0, height=HEIGHT + 0.6, title=heading, sharey=True
        )
        for axis, column in zip(axes[0], columns, strict=True):
            _panel(axis, scene, column)
        axes[0, 0].set_ylabel("average return")
    return figure


def _panel(axis: Any, scene: Scene, column: str) -> None:
    ends = []
    for entry in scene.entries:
        (x, x_half), (y, y_half) = entry.result.summary[column], entry.result.summary["average_return"]
        if np.isnan(x):
            continue
        axis.errorbar(
            x, y, np.nan_to_num(y_half), np.nan_to_num(x_half), elinewidth=1, capsize=0, **canvas.point(entry)
        )
        ends.append((y, entry.short, entry.style.colour))
    axis.set_xlabel(f"{title(column)} (left is fairer)")
    canvas.label_ends(axis, ends, HEIGHT)
