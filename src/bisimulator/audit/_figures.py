"""The figures of an audit's page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bisimulator.audit.analysis import AuditResult
from bisimulator.audit.trajectories import score_values
from bisimulator.report.figures import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#0072B2", "#D55E00", "#007D5B", "#C4629A", "#B87A00", "#3B5B92", "#8C510A", "#1F1F1F")
_DASHES = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
_WIDTH, _HEIGHT = 3.3, 2.6  # inches of a panel


def svg_figures(result: AuditResult) -> dict[str, str]:
    """SVG elements by name."""
    figures = {
        "people": draw_people(result),
        "trajectories": draw_trajectories(result),
        "frontier": draw_frontier(result),
    }
    return {name: _element(canvas.encode(figure, "svg").decode()) for name, figure in figures.items()}


def _element(svg: str) -> str:
    return svg[svg.index("<svg") :]


def _line(g: int) -> canvas.Keywords:
    """A group's colour and dashes; groups can be told apart without colours too."""
    return {"color": _COLOURS[g % len(_COLOURS)], "linestyle": _DASHES[g % len(_DASHES)], "linewidth": 1.7}


def _legend(figure: Figure, axis: Axes, names: Sequence[str]) -> None:
    """One entry per group; names are passed on, because matplotlib leaves out labels that begin with _."""
    figure.legend(list(axis.lines), names, loc="outside upper left", ncols=min(len(names), 6), handlelength=3)


def draw_people(result: AuditResult) -> Figure:
    """Scores at the start, repayment rates, and whom the policy accepts, at each score."""
    chain, scores = result.chain, score_values(result.env)
    repayment = np.tensordot(chain.type_probs, chain.repayment, 1)
    curves = {"People at each score, % of the group": chain.initial, "Repay at each score, %": repayment}
    if result.table is not None:
        curves["Accepted at each score, %"] = result.table
    with canvas.style():
        figure, axes = canvas.panels(1, len(curves), width=_WIDTH, height=_HEIGHT, title="")
        for axis, (title, values) in zip(axes[0], curves.items(), strict=True):
            for g in range(len(result.names)):
                step = "steps-mid" if values is result.table else "default"
                axis.plot(scores, 100 * np.asarray(values)[g], drawstyle=step, **_line(g))
            axis.set_title(title)
            axis.set_xlabel("score")
            axis.set_ylim(0, 103 if title != next(iter(curves)) else None)
        _legend(figure, axes[0, 0], result.names)
    return figure


def draw_trajectories(result: AuditResult) -> Figure:
    """Acceptance and average scores over time."""
    trajectories = result.trajectories
    curves = {
        "Accepted, % of applications": 100 * trajectories.approval_rate,
        "Accepted, % of repayers": 100 * trajectories.recall,
        "Average score": trajectories.score,
    }
    with canvas.style():
        figure, axes = canvas.panels(1, len(curves), width=_WIDTH, height=_HEIGHT, title="")
        for axis, (title, values) in zip(axes[0], curves.items(), strict=True):
            # rates are those of a window of time, drawn at its middle; scores are those at its end
            ends = np.append(0.0, trajectories.time)
            times = ends if len(values) == len(ends) else (ends[1:] + ends[:-1]) / 2
            for g in range(len(result.names)):
                axis.plot(times, values[:, g], **_line(g))
            axis.set_title(title)
            axis.set_xlabel("applications per person so far")
            axis.set_xlim(0, trajectories.time[-1])
            if title != "Average score":
                axis.set_ylim(0, 103)
        _legend(figure, axes[0, 0], result.names)
    return figure


def draw_frontier(result: AuditResult) -> Figure:
    """The frontier, the policy, and how much fairer or more profitable policies exist."""
    best, row = result.best, result.row
    order = best.levels.argsort()
    level, optimum, stationary = best.levels[order], best.upper_bound[order], best.stationary_value[order]
    left = min(row.smallest_recall, level[0])
    top, bottom = optimum.max(), min(row.earned, 0.0 if row.earned > 0 else row.earned)
    height = max(top - bottom, 1.0)
    with canvas.style():
        figure, axes = canvas.panels(1, 1, width=7.4, height=3.6, title="")
        axis: Axes = axes[0, 0]
        label = "any policy (proven optimum)" if best.attained else "any policy (upper bound)"
        axis.plot(
            np.append(0.0, level),
            np.append(optimum[0], optimum),
            color=canvas.INK,
            linewidth=1.8,
            label=label,
        )
        axis.plot(
            level,
            stationary,
            color=canvas.INK,
            linewidth=1.2,
            linestyle=(0, (4, 2)),
            label="by score and group only",
        )
        axis.set_ylim(bottom - 0.08 * height, top + 0.08 * height)
        axis.set_xlim(max(left - 0.08, -0.02), 1.02)
        _draw_improvements(axis, result)
        _draw_simple_policies(axis, result)
        axis.plot(row.smallest_recall, row.earned, "D", color=_COLOURS[1], markersize=8, label="this policy")
        axis.set_xlabel("share of repayers accepted, in the worst-off group")
        axis.set_ylabel("earned")
        axis.legend(loc="lower left" if row.smallest_recall > 0.5 * (left + 1) else "lower center")
    return figure


def _draw_improvements(axis: Axes, result: AuditResult) -> None:
    """Arrows to the optimum at the same recall and at the same return, unless the policy is about there."""
    row, arrow = result.row, {"arrowstyle": "->", "color": _COLOURS[1], "linewidth": 1.2}
    here = row.smallest_recall, row.earned
    for end in (
        (row.smallest_recall, row.earned + result.regret),
        (result.fairest_at_this_return, row.earned),
    ):
        if abs(end[0] - here[0]) > 0.01 or result.regret > 0.01 * abs(row.earned + result.regret):
            axis.annotate("", end, here, arrowprops=arrow)


def _draw_simple_policies(axis: Axes, result: AuditResult) -> None:
    for other in result.simple:
        if np.isfinite(other.smallest_recall):
            place = other.smallest_recall, other.earned
            axis.plot(*place, "o", color=canvas.PALE, markersize=5)
            axis.annotate(
                other.name,
                place,
                (-6, -3),
                color=canvas.PALE,
                fontsize=8,
                textcoords="offset points",
                ha="right",
                annotation_clip=True,
            )
