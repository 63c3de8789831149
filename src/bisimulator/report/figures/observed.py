"""Figure 2: the true credit gap and the one that the agent sees under the learned observation dynamics, and omega."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bisimulator.experiments.run import Result
from bisimulator.report.colours import group_colours
from bisimulator.report.figures import canvas
from bisimulator.report.figures.curves import band
from bisimulator.report.scenes import Entry, Scene, scenes
from bisimulator.report.statistics import BASELINE

HEIGHT = 2.5
TRUE, SEEN = "credit_gap", "observed_credit_gap"


def draw(results: Sequence[Result]) -> dict[str, Any]:
    """For every method that learned omega."""
    figures = {}
    for scene in scenes(results):
        learned = [entry for entry in scene.entries if entry.omega is not None]
        if learned:
            figures[f"{scene.scenario}-observation"] = _figure(scene, learned)
    return figures


def _figure(scene: Scene, learned: Sequence[Entry]) -> Any:
    has_gaps = SEEN in learned[0].result.columns
    env = scene.entries[0].result.spec.make_env()
    names = env.scenario.omega_names
    with canvas.style():
        heading = f"{scene.scenario}: what the agent is shown"
        figure, axes = canvas.panels(1, has_gaps + 1, width=4.8, height=HEIGHT + 0.6, title=heading)
        if has_gaps:
            plain = [entry for entry in scene.entries if entry.published_name == BASELINE]
            _gaps(axes[0, 0], [*learned, *plain])
        _omega(axes[0, -1], learned, names)
    return figure


def _gaps(axis: Any, entries: Sequence[Entry]) -> None:
    ends = []
    for entry in entries:
        if entry.result.curves is None:
            continue
        kinds = ((TRUE, "true", "-"), (SEEN, "observed", (0, (3, 1.5))))
        for column, name, dash in kinds if entry.omega is not None else kinds[:1]:
            steps, mean, half = band(entry, column)
            half = np.nan_to_num(half)
            axis.fill_between(
                steps, mean - half, mean + half, color=entry.style.colour, alpha=0.14, linewidth=0
            )
            axis.plot(steps, mean, color=entry.style.colour, linestyle=dash, linewidth=1.5)
            ends.append((float(mean[-1]), f"{entry.short}, {name}", entry.style.colour))
    axis.set_title("Credit gap")
    axis.set_xlabel("steps of training")
    axis.margins(x=0)
    canvas.thousands(axis)
    canvas.label_ends(axis, ends, HEIGHT)


def _omega(axis: Any, entries: Sequence[Entry], names: Sequence[str]) -> None:
    groups = entries[0].omega.shape[1]  # type: ignore[union-attr]
    colours = group_colours(groups)
    ticks = []
    for e, entry in enumerate(entries):
        omega = entry.omega
        for k, name in enumerate(names):
            place = -(e * len(names) + k)
            ticks.append((place, f"{entry.short}: {name.replace('_', ' ')}"))
            for g in range(groups):
                offset = 0.5 * (g / max(groups - 1, 1) - 0.5)
                values = omega[:, g, k]  # type: ignore[index]
                axis.plot(
                    values, np.full(len(values), place - offset), "o", color=colours[g], alpha=0.35, ms=3
                )
                axis.plot(values.mean(), place - offset, "D", color=colours[g], ms=5.5, mec="white", mew=0.5)
    axis.axvline(1.0, color=canvas.PALE, linewidth=0.8, linestyle=":")
    axis.set_yticks([place for place, _ in ticks], [text for _, text in ticks])
    axis.set_title("Learned omega")
