"""Learning curves: evaluations during training, mean and 95% interval over seeds.

As in the paper the Bisimulator with the reward correction alone has a figure of its own, next to the full one. Methods
that are not trained are horizontal lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from bisimulator.core import Values
from bisimulator.errors import check_known
from bisimulator.evaluation import mean_and_interval
from bisimulator.jobs.learning_curves import DIAGNOSTIC
from bisimulator.jobs.store import Result
from bisimulator.report._by_scenario import JobEntry, ScenarioResults, by_scenario
from bisimulator.report._table_columns import bounds, heading
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures import _labels as labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 2.25  # inches of a panel
_COLUMNS = 3
# the paper's ablations, by the method of which they are one
ABLATIONS = {
    "PPO + Bisimulator (Reward only)": "PPO + Bisimulator",
    "DQN + Bisimulator (Reward only)": "DQN + Bisimulator",
}
_PLAIN_SOLVERS = ("PPO", "DQN")


def draw(results: Sequence[Result]) -> dict[str, Figure]:
    """`SCENARIO-curves`, and `SCENARIO-ablation` if a method and its ablation were both run."""
    figures = {}
    for scenario in by_scenario(results):
        trained = [entry for entry in scenario.entries if entry.result.curves is not None]
        if not trained:
            continue
        names = {entry.published_name for entry in trained}
        ablations = [entry for entry in trained if ABLATIONS.get(entry.published_name) in names]
        main = [entry for entry in scenario.entries if entry not in ablations]
        figures[f"{scenario.name}-curves"] = _figure(scenario, main, "learning curves")
        if ablations:
            shown = {ABLATIONS[entry.published_name] for entry in ablations} | {*_PLAIN_SOLVERS}
            compared = [e for e in trained if e in ablations or e.published_name in shown]
            figures[f"{scenario.name}-ablation"] = _figure(
                scenario, compared, "the full Bisimulator, and the reward correction alone"
            )
    return figures


def draw_training(results: Sequence[Result], columns: Sequence[str]) -> dict[str, Figure]:
    """`SCENARIO-training`: some metrics over the training of all methods, and of rules as horizontal lines."""
    return {
        f"{scenario.name}-training": _figure(scenario, scenario.entries, "over training", columns)
        for scenario in by_scenario(results)
        if any(entry.result.curves is not None for entry in scenario.entries)
    }


def draw_curve(result: Result, column: str) -> Figure:
    """One job's learning curve of one metric.

    Args:
        result: a job that was trained with `curve_every` above 0.
        column: a metric, such as "recall_gap", or a diagnostic of the solver, such as "solver/entropy".

    Raises:
        ValueError: if the job has no learning curve, or none of this metric.
    """
    (scenario,) = by_scenario([result])
    (entry,) = scenario.entries
    if result.curves is None:
        raise ValueError(f"{entry.label} has no learning curve; train a method with curve_every above 0")
    check_known("metric", column, result.curves.values)
    with canvas.style():
        figure, axes = canvas.panels(
            1, 1, width=5.0, height=HEIGHT + 0.6, title=f"{scenario.name}: {entry.label}"
        )
        _panel(axes[0, 0], column, [entry])
        axes[0, 0].set_xlabel("training steps")
    return figure


def band(
    entry: JobEntry, column: str
) -> tuple[Int[NDArray[np.int64], "T"], Float[Values, "T"], Float[Values, "T"]]:
    """Training steps, mean and half width at each evaluation; the half width is NaN with one seed."""
    curves = entry.result.curves
    if curves is None:
        raise ValueError(f"{entry.label} was not trained and has no learning curve")
    pairs = np.array([mean_and_interval(values[:, None]) for values in curves.values[column]])
    return curves.steps, pairs[:, 0], pairs[:, 1]


def has_curve(entry: JobEntry, column: str) -> bool:
    return entry.result.curves is not None and column in entry.result.curves.values


def _figure(
    scenario: ScenarioResults, entries: Sequence[JobEntry], title: str, asked: Sequence[str] | None = None
) -> Figure:
    columns = [c for c in asked or scenario.columns if any(has_curve(entry, c) for entry in entries)]
    across = min(_COLUMNS, len(columns)) if asked else _COLUMNS
    rows = -(-len(columns) // across)
    spec = next(entry.result.spec for entry in entries if entry.result.curves is not None)
    note = (
        f"Mean of {len(spec.seeds)} seeds x {spec.curve_episodes} evaluation episodes; shaded: 95% interval."
    )
    if any(entry.result.curves is None for entry in entries):
        note += " Horizontal lines: methods that are not trained."
    with canvas.style():
        figure, axes = canvas.panels(
            rows, across, width=3.7, height=HEIGHT + 0.5, title=f"{scenario.name}: {title}", note=note
        )
        for axis, column in zip(axes.flat, columns, strict=False):
            _panel(axis, column, entries)
        for axis in axes.flat[len(columns) :]:
            axis.set_visible(False)
        for axis in axes.flat[max(0, len(columns) - across) : len(columns)]:
            axis.set_xlabel("training steps")
    return figure


def _panel(axis: Axes, column: str, entries: Sequence[JobEntry]) -> None:
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
    diagnostic = column.startswith(DIAGNOSTIC)
    possible = (None, None) if diagnostic else bounds(column)
    axis.set_ylim(canvas.limits(np.concatenate(means), np.concatenate(halves), possible))
    axis.set_title(column if diagnostic else heading(column))
    axis.margins(x=0)
    axis.set_xlim(left=0)
    canvas.thousands(axis)
    labels.label_ends(axis, ends, HEIGHT)
