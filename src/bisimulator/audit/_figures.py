"""The pictures of an audit's page."""

from __future__ import annotations

from typing import Any

import numpy as np

from bisimulator.audit.analysis import Audit
from bisimulator.audit.trajectories import score_values
from bisimulator.report.figures import _canvas as canvas

_COLOURS = ("#0072B2", "#D55E00", "#007D5B", "#C4629A", "#B87A00", "#3B5B92", "#8C510A", "#1F1F1F")
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
_WIDTH, _HEIGHT = 3.3, 2.6  # inches of a panel


def pictures(found: Audit) -> dict[str, str]:
    """SVG elements by name."""
    drawn = {"people": draw_people(found), "course": draw_course(found), "standing": draw_standing(found)}
    return {name: _element(canvas.encode(figure, "svg").decode()) for name, figure in drawn.items()}


def _element(svg: str) -> str:
    return svg[svg.index("<svg") :]


def look(g: int) -> dict[str, Any]:
    """A group's colour and line: told apart without colours too."""
    return {"color": _COLOURS[g % len(_COLOURS)], "linestyle": _DASHES[g % len(_DASHES)], "linewidth": 1.7}


def _panels(found: Audit, columns: int) -> tuple[Any, Any]:
    figure, axes = canvas.panels(1, columns, width=_WIDTH, height=_HEIGHT, title="")
    figure.suptitle("")
    return figure, axes[0]


def _legend(figure: Any, axis: Any) -> None:
    handles, names = axis.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper left", ncols=min(len(names), 6), handlelength=3)


def draw_people(found: Audit) -> Any:
    """Who they are: scores at the start, how each score repays, and whom the policy accepts."""
    chain, x = found.chain, score_values(found.env)
    repayment = np.tensordot(chain.type_probs, chain.repayment, 1)
    curves = {"People at each score, % of the group": chain.initial, "Repay at each score, %": repayment}
    if found.table is not None:
        curves["Accepted at each score, %"] = found.table
    with canvas.style():
        figure, axes = _panels(found, len(curves))
        for axis, (title, values) in zip(axes, curves.items(), strict=True):
            for g, name in enumerate(found.names):
                step = "steps-mid" if values is found.table else "default"
                axis.plot(x, 100 * np.asarray(values)[g], label=name, drawstyle=step, **look(g))
            axis.set_title(title)
            axis.set_xlabel("score")
            axis.set_ylim(0, 103 if title != next(iter(curves)) else None)
        _legend(figure, axes[0])
    return figure


def draw_course(found: Audit) -> Any:
    course = found.course
    curves = {
        "Accepted, % of applications": 100 * course.approval_rate,
        "Accepted, % of repayers": 100 * course.recall,
        "Average score": course.score,
    }
    with canvas.style():
        figure, axes = _panels(found, len(curves))
        for axis, (title, values) in zip(axes, curves.items(), strict=True):
            # rates are those of a window of time, drawn at its middle; scores are those at its end
            ends = np.append(0.0, course.time)
            times = ends if len(values) == len(ends) else (ends[1:] + ends[:-1]) / 2
            for g, name in enumerate(found.names):
                axis.plot(times, values[:, g], label=name, **look(g))
            axis.set_title(title)
            axis.set_xlabel("applications of an average person so far")
            axis.set_xlim(0, course.time[-1])
            if title != "Average score":
                axis.set_ylim(0, 103)
        _legend(figure, axes[0])
    return figure


def draw_standing(found: Audit) -> Any:
    """The frontier, the policy, and the ways up and to the right that are open to it."""
    best, row = found.best, found.row
    order = best.levels.argsort()
    level, most, clockless = best.levels[order], best.upper_bound[order], best.stationary_value[order]
    shown = [row, *(r for r in found.simple if np.isfinite(r.smallest_recall))]
    left = min(row.smallest_recall, level[0])
    top, bottom = most.max(), min(row.earned, 0.0 if row.earned > 0 else row.earned)
    room = max(top - bottom, 1.0)
    with canvas.style():
        figure, axes = canvas.panels(1, 1, width=7.4, height=3.6, title="")
        figure.suptitle("")
        axis = axes[0, 0]
        label = "any policy (proven)" if best.attained else "any policy, at most (proven)"
        axis.plot(
            np.append(0.0, level), np.append(most[0], most), color=canvas.INK, linewidth=1.8, label=label
        )
        axis.plot(
            level,
            clockless,
            color=canvas.INK,
            linewidth=1.2,
            linestyle=(0, (4, 2)),
            label="by score and group only",
        )
        axis.set_ylim(bottom - 0.08 * room, top + 0.08 * room)
        axis.set_xlim(max(left - 0.08, -0.02), 1.02)
        _ways(axis, found)
        for other in shown[1:]:
            axis.plot(other.smallest_recall, other.earned, "o", color=canvas.PALE, markersize=5)
            place = (other.smallest_recall, other.earned)
            near = {"textcoords": "offset points", "ha": "right", "annotation_clip": True}
            axis.annotate(other.name, place, (-6, -3), color=canvas.PALE, fontsize=8, **near)
        axis.plot(row.smallest_recall, row.earned, "D", color=_COLOURS[1], markersize=8, label="this policy")
        axis.set_xlabel("share of repayers accepted, in the group that fares worst")
        axis.set_ylabel("earned")
        axis.legend(loc="lower left" if row.smallest_recall > 0.5 * (left + 1) else "lower center")
    return figure


def _ways(axis: Any, found: Audit) -> None:
    row, arrow = found.row, {"arrowstyle": "->", "color": _COLOURS[1], "linewidth": 1.2}
    for end in ((row.smallest_recall, row.earned + found.regret), (found.fairest_at_this_return, row.earned)):
        if abs(end[0] - row.smallest_recall) > 0.01 or found.regret > 0.01 * abs(row.earned + found.regret):
            axis.annotate("", end, (row.smallest_recall, row.earned), arrowprops=arrow)
