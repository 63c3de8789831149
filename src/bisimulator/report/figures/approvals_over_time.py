"""Loans or admissions so far over an evaluation episode, a panel a group; means over seeds and episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bisimulator.jobs.run import Result
from bisimulator.report._by_scenario import Entry, Scene, scenes
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures import _labels as labels

HEIGHT = 2.5
_MOST_GROUPS = 4  # of more groups the first and the last are shown


def draw(results: Sequence[Result]) -> dict[str, Any]:
    return {f"{scene.scenario}-approvals": _figure(scene) for scene in scenes(results)}


def what(scenario: str) -> str:
    """Approvals in the words of the scenario."""
    return "admissions" if "college" in scenario else "loans" if "lending" in scenario else "approvals"


def cumulative(entry: Entry) -> tuple[np.ndarray, np.ndarray]:
    """(steps (P,), approvals so far (P, G)), from nothing at the start."""
    approvals = np.asarray(entry.result.outcome.approvals, np.float64).mean((0, 1))
    horizon = int(entry.result.spec.make_env().params.horizon)
    steps = horizon * np.arange(len(approvals) + 1) / len(approvals)
    return steps, np.concatenate([np.zeros((1, approvals.shape[1])), approvals])


def shown_groups(groups: int) -> list[int]:
    return list(range(groups)) if groups <= _MOST_GROUPS else [0, groups - 1]


def _figure(scene: Scene) -> Any:
    found = [(entry, *cumulative(entry)) for entry in scene.entries]
    groups = shown_groups(found[0][2].shape[1])
    things = what(scene.scenario)
    with canvas.style():
        heading = f"{scene.scenario}: {things} so far over an episode"
        note = "Mean over seeds and evaluation episodes, after the training."
        figure, axes = canvas.panels(
            1, len(groups), width=4.4, height=HEIGHT + 0.6, title=heading, note=note, sharey=True
        )
        for axis, group in zip(axes[0], groups, strict=True):
            for entry, steps, approvals in found:
                axis.plot(steps, approvals[:, group], **canvas.line(entry))
            axis.set_title(f"Group {group + 1}")
            axis.set_xlabel("decisions")
            axis.margins(x=0)
            axis.set_ylim(bottom=0)
        for axis, group in zip(axes[0], groups, strict=True):
            ends = [(float(approvals[-1, group]), e.short, e.style.colour) for e, _, approvals in found]
            labels.label_ends(axis, ends, HEIGHT)
        axes[0, 0].set_ylabel(f"{things} so far")
    return figure
