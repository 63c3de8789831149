"""Learning curves: what evaluations during training found, mean and 95% interval over seeds.

As in the paper the Bisimulator with the reward alone has a figure of its own, beside the full one. Methods that are not
trained are level lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bisimulator.evaluation import mean_and_interval
from bisimulator.jobs.run import Result
from bisimulator.report._by_scenario import Entry, Scene, scenes
from bisimulator.report._table_columns import bounds, heading
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures import _labels as labels

HEIGHT = 2.25  # inches of a panel
_COLUMNS = 3


def draw(results: Sequence[Result]) -> dict[str, Any]:
    """`SCENARIO-curves`, and `SCENARIO-ablation` where a Bisimulator was also run with its reward alone."""
    figures = {}
    for scene in scenes(results):
        trained = [entry for entry in scene.entries if entry.result.curves is not None]
        if not trained:
            continue
        reward_only = [entry for entry in trained if entry.reward_only]
        full = {entry.published_name for entry in trained}
        twin = lambda entry: entry.published_name.removesuffix(" (Reward only)")  # noqa: E731
        aside = [entry for entry in reward_only if twin(entry) in full]
        main = [entry for entry in scene.entries if entry not in aside]
        figures[f"{scene.scenario}-curves"] = _figure(scene, main, "learning curves")
        if aside:
            shown = {twin(entry) for entry in aside} | {"PPO", "DQN"}
            pair = [e for e in trained if e in aside or e.published_name in shown]
            figures[f"{scene.scenario}-ablation"] = _figure(
                scene, pair, "the full Bisimulator, and with the reward correction alone"
            )
    return figures


def band(entry: Entry, column: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(steps, mean, half width) at each evaluation; the half width is NaN with one seed."""
    curves = entry.result.curves
    if curves is None:
        raise ValueError(f"{entry.label} was not trained and has no learning curve")
    pairs = np.array([mean_and_interval(values[:, None]) for values in curves.values[column]])
    return curves.steps, pairs[:, 0], pairs[:, 1]


def _figure(scene: Scene, entries: Sequence[Entry], what: str) -> Any:
    columns = [c for c in scene.columns if any(has_curve(entry, c) for entry in entries)]
    rows = -(-len(columns) // _COLUMNS)
    spec = next(entry.result.spec for entry in entries if entry.result.curves is not None)
    note = (
        f"Mean of {len(spec.seeds)} seeds x {spec.curve_episodes} evaluation episodes; shaded: 95% interval."
    )
    if any(entry.result.curves is None for entry in entries):
        note += " Level lines: methods that are not trained."
    with canvas.style():
        figure, axes = canvas.panels(
            rows, _COLUMNS, width=3.7, height=HEIGHT + 0.5, title=f"{scene.scenario}: {what}", note=note
        )
        for axis, column in zip(axes.flat, columns, strict=False):
            _panel(axis, column, entries)
        for axis in axes.flat[len(columns) :]:
            axis.set_visible(False)
        for axis in axes.flat[max(0, len(columns) - _COLUMNS) : len(columns)]:
            axis.set_xlabel("steps of training")
    return figure


def has_curve(entry: Entry, column: str) -> bool:
    return entry.result.curves is not None and column in entry.result.curves.values


def _panel(axis: Any, column: str, entries: Sequence[Entry]) -> None:
    ends, means, halves = [], [], []
    for entry in entries:
        if has_curve(entry, column):
            steps, mean, half = band(entry, column)
            canvas.shade(axis, entry, steps, mean, half)
            axis.plot(steps, mean, **canvas.line(entry))
        else:
            mean, half = (np.array([value]) for value in entry.result.summary[column])
            axis.axhline(mean[0], **canvas.line(entry, linewidth=1.1))
        means.append(mean)
        halves.append(half)
        last = mean[~np.isnan(mean)][-1:]
        ends += [(float(value), entry.short, entry.style.colour) for value in last]
    axis.set_ylim(canvas.limits(np.concatenate(means), np.concatenate(halves), bounds(column)))
    axis.set_title(heading(column))
    axis.margins(x=0)
    axis.set_xlim(left=0)
    canvas.thousands(axis)
    labels.label_ends(axis, ends, HEIGHT)
