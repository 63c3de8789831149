"""Recall of each of many groups, method by method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bisimulator.experiments.run import Result
from bisimulator.report.figures import canvas
from bisimulator.report.scenes import Scene, scenes

HEIGHT = 2.6
MANY = 3  # groups; two are told apart in the tables


def draw(results: Sequence[Result]) -> dict[str, Any]:
    """For scenarios with more than two groups."""
    found = {}
    for scene in scenes(results):
        groups = scene.entries[0].result.spec.make_env().num_groups
        if groups >= MANY:
            found[f"{scene.scenario}-groups"] = _figure(scene, groups)
    return found


def _figure(scene: Scene, groups: int) -> Any:
    with canvas.style():
        heading = f"{scene.scenario}: recall of each group"
        figure, axes = canvas.panels(1, 1, width=6.4, height=HEIGHT + 0.6, title=heading)
        axis, ends = axes[0, 0], []
        numbers = np.arange(1, groups + 1)
        for entry in scene.entries:
            mean, half = np.array([entry.result.summary[f"recall_g{g}"] for g in numbers]).T
            axis.fill_between(
                numbers, mean - half, mean + half, color=entry.style.colour, alpha=0.14, linewidth=0
            )
            axis.plot(numbers, mean, **canvas.line(entry), marker=entry.style.marker, markersize=4)
            ends.append((float(mean[-1]), entry.short, entry.style.colour))
        axis.set_xticks(numbers)
        axis.set_ylim(0, 1.04)
        axis.set_xlabel("group, from the best to the worst scores at the start")
        axis.set_ylabel("recall")
        canvas.label_ends(axis, ends, HEIGHT)
    return figure
