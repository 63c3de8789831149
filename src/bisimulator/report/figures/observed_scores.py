"""Figure 2: the true credit gap and the one that the agent sees under the learned observation dynamics, and omega."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bisimulator.jobs.run import Result
from bisimulator.report._by_scenario import Entry, Scene, scenes
from bisimulator.report._table_columns import bounds
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures import _labels as labels
from bisimulator.report.figures.learning_curve_figures import band, has_curve
from bisimulator.report.statistics import BASELINE

HEIGHT = 2.5
TRUE, SEEN = "credit_gap", "observed_credit_gap"
_WORDS = {
    "c_plus": "Shown gain on repayment (c_plus)",
    "c_minus": "Shown loss on default (c_minus)",
    "cost": "Cost of a point",
}


def draw(results: Sequence[Result]) -> dict[str, Any]:
    """For every scenario where a method learned omega."""
    figures = {}
    for scene in scenes(results):
        learned = [entry for entry in scene.entries if entry.omega is not None]
        if learned:
            figures[f"{scene.scenario}-observation"] = _figure(scene, learned)
    return figures


def _figure(scene: Scene, learned: Sequence[Entry]) -> Any:
    names = learned[0].result.spec.make_env().scenario.omega_names
    with_curve = [entry for entry in learned if has_curve(entry, SEEN)]
    plain = [e for e in scene.entries if e.published_name == BASELINE and has_curve(e, TRUE)]
    note = "Omega after the training: dots are seeds, lines their means; 1 leaves the observation as it is."
    with canvas.style():
        figure, axes = canvas.panels(
            1,
            len(names) + bool(with_curve),
            width=3.9,
            height=HEIGHT + 0.6,
            title=f"{scene.scenario}: what the agent is shown",
            note=note,
        )
        if with_curve:
            _gaps(axes[0, 0], with_curve, plain)
        for k, name in enumerate(names):
            axis = axes[0, k - len(names)]
            _omega(axis, learned, k)
            axis.set_title(_WORDS.get(name, name.replace("_", " ")))
    return figure


def _gaps(axis: Any, learned: Sequence[Entry], plain: Sequence[Entry]) -> None:
    lines: list[tuple[Entry, str, str, Any]] = [(entry, TRUE, "true", "-") for entry in (*learned, *plain)]
    lines += [(entry, SEEN, "observed", (0, (3, 1.5))) for entry in learned]
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
    axis.set_xlabel("steps of training")
    axis.margins(x=0)
    axis.set_xlim(left=0)
    canvas.thousands(axis)
    labels.label_ends(axis, ends, HEIGHT)


def _omega(axis: Any, entries: Sequence[Entry], k: int) -> None:
    """One component of omega, group by group."""
    ends = []
    axis.axhline(1.0, color=canvas.PALE, linewidth=0.8, linestyle=":")
    for e, entry in enumerate(entries):
        omega = np.asarray(entry.omega)[:, :, k]  # (S, G)
        groups = np.arange(1, omega.shape[1] + 1)
        aside = 0.06 * (e - (len(entries) - 1) / 2)
        look = {"color": entry.style.colour, "marker": entry.style.marker}
        for values in omega:
            axis.plot(groups + aside, values, linestyle="none", ms=3.5, mew=0, alpha=0.3, **look)
        size = canvas.marker_size(6, groups.size)
        axis.plot(groups + aside, omega.mean(0), **canvas.line(entry), marker=entry.style.marker, ms=size)
        ends.append((float(omega[:, -1].mean()), entry.short, entry.style.colour))
    canvas.group_axis(axis, groups.size)
    axis.margins(x=0.12)
    labels.label_ends(axis, ends, HEIGHT)
