"""Cumulative approvals over an evaluation episode, one panel per group; means over seeds and episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bisimulator.core import Values
from bisimulator.jobs.store import Result
from bisimulator.report._by_scenario import JobEntry, ScenarioResults, by_scenario
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures import _labels as labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 2.5
_MAX_PANELS = 4  # of more groups the first and the last are shown


def draw(results: Sequence[Result]) -> dict[str, Figure]:
    """`SCENARIO-approvals` for every scenario."""
    return {f"{scenario.name}-approvals": _figure(scenario) for scenario in by_scenario(results)}


def cumulative(entry: JobEntry) -> tuple[Float[Values, "P+1"], Float[Values, "P+1 G"]]:
    """Numbers of decisions, and the approvals of each group until then, from 0 at the start."""
    approvals = np.asarray(entry.result.outcome.approvals, np.float64).mean((0, 1))
    horizon = entry.result.spec.make_env().horizon
    steps = horizon * np.arange(len(approvals) + 1) / len(approvals)
    return steps, np.concatenate([np.zeros((1, approvals.shape[1])), approvals])


def shown_groups(groups: int) -> list[int]:
    return list(range(groups)) if groups <= _MAX_PANELS else [0, groups - 1]


def _figure(scenario: ScenarioResults) -> Figure:
    lines = [(entry, *cumulative(entry)) for entry in scenario.entries]
    groups = shown_groups(scenario.env.num_groups)
    words = f"cumulative {scenario.env.scenario.vocabulary.approvals}"
    with canvas.style():
        figure, axes = canvas.panels(
            1,
            len(groups),
            width=4.4,
            height=HEIGHT + 0.6,
            title=f"{scenario.name}: {words} over an episode",
            note="Mean over seeds and evaluation episodes, after the training.",
            sharey=True,
        )
        for axis, group in zip(axes[0], groups, strict=True):
            for entry, steps, approvals in lines:
                axis.plot(steps, approvals[:, group], **canvas.line(entry))
            axis.set_title(f"Group {group + 1}")
            axis.set_xlabel("decisions")
            axis.margins(x=0)
            axis.set_ylim(bottom=0)
        for axis, group in zip(axes[0], groups, strict=True):
            ends = [(float(approvals[-1, group]), e.short, e.style.colour) for e, _, approvals in lines]
            labels.label_ends(axis, ends, HEIGHT)
        axes[0, 0].set_ylabel(words)
    return figure
