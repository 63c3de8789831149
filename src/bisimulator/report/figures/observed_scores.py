"""Figure 2: the true credit gap, the one that the agent observes, and the learned observation dynamics omega."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bisimulator.jobs.store import Result
from bisimulator.report._by_scenario import JobEntry, ScenarioResults, by_scenario
from bisimulator.report._table_columns import bounds
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures import _labels as labels
from bisimulator.report.figures.learning_curve_figures import band, has_curve
from bisimulator.report.statistics import BASELINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 2.5
TRUE, OBSERVED = "credit_gap", "observed_credit_gap"
_TITLES = {  # of the entries of omega; others have their names
    "c_plus": "Observed gain on repayment (c_plus)",
    "c_minus": "Observed loss on default (c_minus)",
    "cost": "Cost of a point",
}


def draw(results: Sequence[Result]) -> dict[str, Figure]:
    """`SCENARIO-observation` for every scenario in which a method learned omega."""
    figures = {}
    for scenario in by_scenario(results):
        learned = [entry for entry in scenario.entries if entry.omega is not None]
        if learned:
            figures[f"{scenario.name}-observation"] = _figure(scenario, learned)
    return figures


def _figure(scenario: ScenarioResults, learned: Sequence[JobEntry]) -> Figure:
    names = scenario.env.scenario.omega_names
    with_curve = [entry for entry in learned if has_curve(entry, OBSERVED)]
    baselines = [e for e in scenario.entries if e.published_name == BASELINE and has_curve(e, TRUE)]
    note = (
        "Omega after the training: pale dots are seeds, the others means; 1 leaves the observation as it is."
    )
    with canvas.style():
        figure, axes = canvas.panels(
            1,
            len(names) + bool(with_curve),
            width=3.9,
            height=HEIGHT + 0.6,
            title=f"{scenario.name}: true and observed scores",
            note=note,
        )
        if with_curve:
            _gaps(axes[0, 0], with_curve, baselines)
        for k, name in enumerate(names):
            axis = axes[0, k - len(names)]
            _omega(axis, learned, k)
            axis.set_title(_TITLES.get(name, name.replace("_", " ")))
    return figure


def _gaps(axis: Axes, learned: Sequence[JobEntry], baselines: Sequence[JobEntry]) -> None:
    solid, dashed = "-", (0, (3, 1.5))
    lines = [
        *((entry, TRUE, "true", solid) for entry in (*learned, *baselines)),
        *((entry, OBSERVED, "observed", dashed) for entry in learned),
    ]
    ends, bands = [], []
    for entry, column, name, dash in lines:
        steps, mean, half = band(entry, column)
        bands.append((mean, half))
        canvas.shade(axis, entry, steps, mean, half)
        axis.plot(steps, mean, **canvas.line(entry, linestyle=dash))
        ends.append((float(mean[-1]), f"{entry.short}, {name}", entry.style.colour))
    means, halves = np.concatenate(bands, axis=1)
    axis.set_ylim(canvas.limits(means, halves, bounds(TRUE)))
    axis.set_title("Credit gap")
    axis.set_xlabel("training steps")
    axis.margins(x=0)
    axis.set_xlim(left=0)
    canvas.thousands(axis)
    labels.label_ends(axis, ends, HEIGHT)


def _omega(axis: Axes, entries: Sequence[JobEntry], k: int) -> None:
    """One entry of omega, group by group."""
    ends = []
    axis.axhline(1.0, color=canvas.PALE, linewidth=0.8, linestyle=":")
    for e, entry in enumerate(entries):
        omega = np.asarray(entry.omega)[:, :, k]  # (S, G)
        groups = np.arange(1, omega.shape[1] + 1)
        places = groups + canvas.aside(e, len(entries))
        for values in omega:
            axis.plot(
                places, values, **canvas.point(entry.style, markersize=3.5, alpha=0.3, markeredgewidth=0)
            )
        size = canvas.marker_size(6, groups.size)
        axis.plot(places, omega.mean(0), **canvas.point(entry.style, markersize=size))
        ends.append((float(omega[:, -1].mean()), entry.short, entry.style.colour))
    canvas.group_axis(axis, groups.size)
    axis.margins(x=0.12)
    labels.label_ends(axis, ends, HEIGHT)
