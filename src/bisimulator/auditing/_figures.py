"""The figures of an audit's page."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bisimulator.auditing.analysis import AuditResult
from bisimulator.auditing.past_decisions import RejectedRange
from bisimulator.auditing.sensitivity import Sweep
from bisimulator.auditing.trajectories import score_values
from bisimulator.core import Env, Values
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures._labels import Labelled, label_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#0072B2", "#D55E00", "#007D5B", "#C4629A", "#B87A00", "#3B5B92", "#8C510A", "#1F1F1F")
_DASHES = ((), (5, 2), (1.2, 1.6), (6, 2, 1.2, 2))  # in widths of the line
_LINE_WIDTH = 1.7
_WIDTH, _HEIGHT = 3.3, 2.4  # inches of a panel; the page puts as many in a row as fit
_WITHOUT_PERCENT = 103  # a little above 100%
_SAMPLES = 60  # of a line, next to which no label is written
# the page's own colours, which follow light and dark
_THEME = {canvas.INK: "var(--ink)", canvas.PALE: "var(--soft)", canvas.GRID: "var(--line)", "#ffffff": "none"}
_THEME |= {colour: f"var(--g{g})" for g, colour in enumerate(_COLOURS)}


def svg_figures(result: AuditResult) -> dict[str, list[str]]:
    """SVG elements by name, one per panel."""
    figures = {
        "people": draw_people(result),
        "trajectories": draw_trajectories(result),
        "frontier": [draw_frontier(result)],
        "gamma": draw_gamma(result),
        "sensitivity": draw_sensitivity(result),
    }
    return {
        name: [_element(canvas.encode(panel, "svg").decode()) for panel in panels]
        for name, panels in figures.items()
    }


def _element(svg: str) -> str:
    """The element, in the colours of the page."""
    for colour, name in _THEME.items():
        svg = svg.replace(f": {colour.lower()}", f": {name}")
    return svg[svg.index("<svg") :]


def legend(result: AuditResult) -> list[tuple[str, str, str]]:
    """Of each group: its name, its colour and its dashes, for the page."""
    return [
        (
            name,
            f"var(--g{g % len(_COLOURS)})",
            " ".join(f"{_LINE_WIDTH * d:g}" for d in _DASHES[g % len(_DASHES)]),
        )
        for g, name in enumerate(result.names)
    ]


def _line(g: int) -> canvas.Keywords:
    """A group's colour and dashes; groups can be told apart without colours too."""
    dashes = _DASHES[g % len(_DASHES)]
    style = (0, dashes) if dashes else "-"
    return {"color": _COLOURS[g % len(_COLOURS)], "linestyle": style, "linewidth": _LINE_WIDTH}


def _panel(title: str, xlabel: str) -> tuple[Figure, Axes]:
    figure, axes = canvas.panels(1, 1, width=_WIDTH, height=_HEIGHT, title="")
    axis: Axes = axes[0, 0]
    axis.set_title(title)
    axis.set_xlabel(xlabel)
    return figure, axis


def _group_panel(
    title: str, xlabel: str, places: Values, values: Float[Values, "G N"]
) -> tuple[Figure, Axes]:
    """One line per group."""
    figure, axis = _panel(title, xlabel)
    for g, each in enumerate(values):
        axis.plot(places, each, **_line(g))
    return figure, axis


def draw_people(result: AuditResult) -> list[Figure]:
    """Scores at the start, repayment rates, and whom the policy accepts, at each score."""
    chain, scores = result.chain, score_values(result.audited.people_env)
    repayment = np.tensordot(chain.type_probs, chain.repayment, 1)
    first = "People at each score, % of the group"
    curves = {first: (scores, chain.initial), "Repay at each score, %": (scores, repayment)}
    kinds = result.audited.kinds
    decisions = result.table if kinds is None else kinds.average
    if decisions is not None:
        curves["Accepted at each score, %"] = _steps(result.env, decisions)
    figures = []
    with canvas.style():
        for title, (places, values) in curves.items():
            figure, axis = _group_panel(title, "score", places, 100 * np.asarray(values))
            axis.set_ylim(0, None if title == first else _WITHOUT_PERCENT)
            figures.append(figure)
    return figures


def _steps(env: Env, table: Float[Values, "G C"]) -> tuple[Values, Values]:
    """A table as a line that jumps at the edges of the bins."""
    edges = np.array(env.params.score_edges or np.arange(env.params.num_scores + 1) - 0.5)
    return np.repeat(edges, 2)[1:-1], np.repeat(table, 2, axis=1)


def draw_trajectories(result: AuditResult) -> list[Figure]:
    """Acceptance and average scores over time."""
    trajectories = result.trajectories
    curves = {
        "Accepted, % of applications": 100 * trajectories.approval_rate,
        "Accepted, % of repayers": 100 * trajectories.recall,
        "Average score": trajectories.score,
    }
    ends = np.append(0.0, trajectories.time)
    figures = []
    with canvas.style():
        for title, values in curves.items():
            # rates are those of a window of time, drawn at its middle; scores are those at its end
            times = ends if len(values) == len(ends) else (ends[1:] + ends[:-1]) / 2
            figure, axis = _group_panel(title, "applications per person so far", times, values.T)
            axis.set_xlim(0, trajectories.time[-1])
            if title != "Average score":
                axis.set_ylim(0, _WITHOUT_PERCENT)
            figures.append(figure)
    return figures


def draw_sensitivity(result: AuditResult) -> list[Figure]:
    """Acceptance of repayers over each assumption, or earnings if that stays; a vertical line at the audit's value."""
    with canvas.style():
        return [_draw_sweep(sweep) for sweep in result.sweeps]


def _draw_sweep(sweep: Sweep) -> Figure:
    recalls = 100 * np.array([point.row.recalls for point in sweep.points]).T
    if np.ptp(recalls, axis=1).max() > 0:
        figure, axis = _group_panel(sweep.name, sweep.unit, sweep.values, recalls)
        axis.set_ylabel("accepted, % of repayers")
        axis.set_ylim(0, _WITHOUT_PERCENT)
    else:
        figure, axis = _panel(sweep.name, sweep.unit)
        earned = [point.row.earned for point in sweep.points]
        axis.plot(sweep.values, earned, color=canvas.INK, label="this policy")
        everybody = [point.accept_all_earns for point in sweep.points]
        axis.plot(sweep.values, everybody, color=canvas.PALE, linestyle=(0, (1.2, 1.6)), label="accept-all")
        axis.set_ylabel("earned")
        axis.legend()
    axis.axvline(sweep.now, color=canvas.PALE, linewidth=0.9)
    if not (sweep.values % 1).any():
        axis.locator_params(axis="x", integer=True)
    return figure


def draw_gamma(result: AuditResult) -> list[Figure]:
    """Acceptance and earnings over gamma; nothing if past decisions leave nothing unknown."""
    rejected = result.rejected
    if rejected is None:
        return []
    figures = []
    curves = {"Accepted, % of applications": "approval_rate", "Accepted, % of repayers": "recall"}
    with canvas.style():
        for title, column in curves.items():
            values = 100 * rejected.policy.groups[column].T
            figure, axis = _group_panel(title, "gamma", rejected.gammas, values)
            axis.set_ylim(0, _WITHOUT_PERCENT)
            figures.append(figure)
        figures.append(_draw_earned(result, rejected))
    return figures


def _draw_earned(result: AuditResult, rejected: RejectedRange) -> Figure:
    """What the policies earn over gamma; accept-all only where it comes near the others."""
    figure, axis = _panel("Earned", "gamma")
    lines = {"optimum, as many repayers": rejected.bound, "this policy": rejected.policy.returns}
    lines |= {result.alternatives[n].row.name: over.returns for n, over in rejected.alternatives.items()}
    styles: list[canvas.Keywords] = [
        {"color": canvas.INK},
        {"color": _COLOURS[1], "marker": "D", "markersize": 4},
    ]
    styles += [
        {"color": canvas.PALE, "linestyle": (0, dashes)} for dashes in ((5, 2), (6, 2, 1.2, 2), (3, 3))
    ]
    for (name, values), style in zip(lines.items(), itertools.cycle(styles)):
        axis.plot(rejected.gammas, values, label=name, linewidth=1.4, **style)
    shown = np.array(list(lines.values()))
    low, high = canvas.limits(shown, np.zeros_like(shown))
    if rejected.accept_all.max() > low:
        dots: canvas.Keywords = {"color": canvas.PALE, "linestyle": (0, (1.2, 1.6)), "linewidth": 1.4}
        axis.plot(rejected.gammas, rejected.accept_all, label="accept-all", **dots)
    axis.set_ylim(low, high)
    axis.legend(loc="upper left", bbox_to_anchor=(0, -0.3), borderaxespad=0)
    return figure


def draw_frontier(result: AuditResult) -> Figure:
    """The frontier, the policy, and how much fairer or more profitable policies exist."""
    best, row = result.best, result.row
    order = best.levels.argsort()
    level, optimum, stationary = best.levels[order], best.upper_bound[order], best.stationary_value[order]
    left = min(row.smallest_recall, level[0])
    top, bottom = optimum.max(), min(row.earned, 0.0)
    height = max(top - bottom, 1.0)
    with canvas.style():
        figure, axes = canvas.panels(1, 1, width=4.4, height=3.9, title="")
        axis: Axes = axes[0, 0]
        label = "any policy (proven optimum)" if best.attained else "any policy (upper bound)"
        proven = np.append(0.0, level), np.append(optimum[0], optimum)
        axis.plot(*proven, color=canvas.INK, linewidth=1.8, label=label)
        dashes: canvas.Keywords = {"linewidth": 1.2, "linestyle": (0, (4, 2))}
        axis.plot(level, stationary, color=canvas.INK, label="by score and group only", **dashes)
        axis.set_ylim(bottom - 0.08 * height, top + 0.08 * height)
        axis.set_xlim(max(left - 0.08, -0.02), 1.02)
        arrows = _draw_improvements(axis, result)
        axis.plot(row.smallest_recall, row.earned, "D", color=_COLOURS[1], markersize=8, label="this policy")
        axis.set_xlabel("share of repayers accepted, in the worst-off group")
        axis.set_ylabel("earned")
        axis.legend(loc="upper left", bbox_to_anchor=(0, -0.16), borderaxespad=0)
        points = [Labelled(row.smallest_recall, row.earned), *_draw_simple_policies(axis, result)]
        label_points(axis, points, [*_along(axis, *proven), *_along(axis, level, stationary), *arrows])
    return figure


def _along(axis: Axes, x: Values, y: Values) -> list[Labelled]:
    """A line as points close together, of which labels keep clear."""
    at = np.linspace(*axis.get_xlim(), _SAMPLES)
    values = np.interp(at, x, y, left=np.nan, right=np.nan)
    return [Labelled(float(a), float(v)) for a, v in zip(at, values, strict=True) if np.isfinite(v)]


def _draw_improvements(axis: Axes, result: AuditResult) -> list[Labelled]:
    """Arrows to the optimum at the same recall and at the same return, unless the policy is about there.

    Returns points on them, of which labels keep clear.
    """
    row, arrow = result.row, {"arrowstyle": "->", "color": _COLOURS[1], "linewidth": 1.2}
    here, along = (row.smallest_recall, row.earned), []
    for end in (
        (row.smallest_recall, row.earned + result.regret),
        (result.fairest_at_this_return, row.earned),
    ):
        if abs(end[0] - here[0]) > 0.01 or result.regret > 0.01 * abs(row.earned + result.regret):
            axis.annotate("", end, here, arrowprops=arrow)
            along += [Labelled(float(x), float(y)) for x, y in np.linspace(here, end, _SAMPLES)]
    return along


def _draw_simple_policies(axis: Axes, result: AuditResult) -> list[Labelled]:
    """Other policies; those that earn less than the frame shows, at its lower edge. Returns what has to be labelled."""
    (left, _), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    points = []
    for other in (*result.simple, *(alternative.row for alternative in result.alternatives.values())):
        x, y = other.smallest_recall, other.earned
        if not np.isfinite(x) or x < left:
            continue
        below, edge = y < bottom, bottom + 0.02 * (top - bottom)
        axis.plot(x, edge if below else y, "v" if below else "o", color=canvas.PALE, markersize=5)
        for text in (other.name, f"({y:,.0f})") if below else (other.name,):  # lines of one label
            points.append(Labelled(x, edge if below else y, text=text, colour=canvas.PALE))
    return points
