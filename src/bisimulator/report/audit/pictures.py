"""The pictures of an audit's page."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from bisimulator.report.audit.course import score_values
from bisimulator.report.audit.finding import Audit
from bisimulator.report.truth import draw_frontier

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C510A", "#1F1F1F")
_DASHES = ("-", "--", "-.", ":")


def pictures(found: Audit) -> dict[str, Any]:
    return {
        "people": draw_people(found),
        "course": draw_course(found),
        "frontier": draw_frontier(found.best, [found.point]),
    }


def _figure(columns: int, height: float = 3.0) -> tuple[Any, list[Any]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * columns, height), layout="constrained")
    axes = list(figure.subplots(1, columns, squeeze=False)[0])
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="#E4E4E4", linewidth=0.6)
    return figure, axes


def _look(g: int) -> dict[str, Any]:
    return {
        "color": _COLOURS[g % len(_COLOURS)],
        "linestyle": _DASHES[g // len(_COLOURS) % len(_DASHES)],
        "linewidth": 1.8,
    }


def draw_people(found: Audit) -> Any:
    """Who they are: scores at the start, and how each score repays."""
    p, x = found.env.params, score_values(found.env)
    figure, (left, right) = _figure(2)
    for g, name in enumerate(found.names):
        left.plot(x, 100 * np.asarray(p.initial)[g], label=name, **_look(g))
        right.plot(x, 100 * np.asarray(p.repayment)[g], **_look(g))
    left.set_title("People at each score, % of the group", loc="left", fontsize=9)
    right.set_title("Repay at each score, %", loc="left", fontsize=9)
    right.set_ylim(0, 102)
    for axis in (left, right):
        axis.set_xlabel("score")
    figure.legend(frameon=False, loc="outside upper center", ncols=min(len(found.names), 5))
    return figure


def draw_course(found: Audit) -> Any:
    course = found.course
    figure, axes = _figure(3)
    start = np.append(0.0, course.time)
    for g, name in enumerate(found.names):
        axes[0].plot(course.time, 100 * course.approval_rate[:, g], label=name, **_look(g))
        axes[1].plot(course.time, 100 * course.recall[:, g], **_look(g))
        axes[2].plot(start, course.score[:, g], **_look(g))
    titles = ("Accepted, % of applications", "Accepted, % of those who would repay", "Average score")
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, loc="left", fontsize=9)
        axis.set_xlabel("applications of an average person so far")
    for axis in axes[:2]:
        axis.set_ylim(0, 102)
    figure.legend(frameon=False, loc="outside upper center", ncols=min(len(found.names), 5))
    return figure


def svg(figure: Any) -> str:
    """The figure as an SVG element to put into a page; the same figure gives the same text."""
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "bisimulator", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]
