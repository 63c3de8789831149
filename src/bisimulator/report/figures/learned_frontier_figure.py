"""The learned frontier: what training reaches at each level of a goal, compared with the exact frontier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bisimulator.core import Values
from bisimulator.evaluation.goal_outcome import GoalOutcome
from bisimulator.exact.frontier import Frontier
from bisimulator.goals import DEMANDS
from bisimulator.jobs.spec import Spec
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.frontiers import axis_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEARNED, STATIONARY, BLIND = "#0B6E99", "#D1702A", "#7A5195"


def draw_learned(spec: Spec, outcomes: Sequence[GoalOutcome], exact: Frontier | None) -> Figure:
    """One point per level with its 95% intervals; a short line leads from the goal to the level reached."""
    name = outcomes[0].demand.partition("=")[0]
    blind = ", group-blind" if spec.solver.group_blind else ""
    with canvas.style():
        figure, axes = canvas.panels(
            1,
            1,
            width=6.4,
            height=4.0,
            title=f"{spec.scenario}: {spec.method} with a goal of {name}{blind}",
            note=f"{len(spec.seeds)} seeds, 95% intervals. Ticks: the level of the goal.",
        )
        axis = axes[0, 0]
        if exact is not None:
            draw_exact(axis, exact)
        reached = np.array([outcome.reached for outcome in outcomes])
        returns = np.array([outcome.average_return for outcome in outcomes])
        axis.errorbar(
            reached[:, 0],
            returns[:, 0],
            np.nan_to_num(returns[:, 1]),
            np.nan_to_num(reached[:, 1]),
            color=LEARNED,
            marker="o",
            markersize=5.5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            elinewidth=1,
            linestyle="none",
            label=f"learned by {spec.method}",
            zorder=3,
        )
        asked = np.array([o.asked for o in outcomes])
        axis.plot(asked, returns[:, 0], color=LEARNED, marker="|", linestyle="none", markersize=9)
        axis.hlines(returns[:, 0], asked, reached[:, 0], color=LEARNED, linewidth=0.7, alpha=0.6)
        x, y = np.concatenate([reached[:, 0], asked]), returns[:, 0]
        if exact is not None:  # beside the learned points: a frontier may fall off steeply beyond them
            near = (exact.levels >= reached[:, 0].min()) & (exact.levels <= reached[:, 0].max())
            x, y = np.append(x, exact.levels), np.append(y, exact.upper_bound[near])
        axis.set_xlim(canvas.limits(x, _padded(reached[:, 1], x)))
        axis.set_ylim(canvas.limits(y, _padded(returns[:, 1], y)))
        axis.set_xlabel(axis_label(DEMANDS[name]))
        axis.set_ylabel("average return")
        axis.legend(loc="best")
    return figure


def draw_exact(axis: Axes, exact: Frontier) -> None:
    """What is possible: of any policy, by score and group, and by score alone."""
    lines = (
        (exact.upper_bound, canvas.INK, 1.6, "-", "provable optimum of any policy"),
        (exact.stationary_value, STATIONARY, 1.4, (0, (5, 2)), "best by score and group"),
        (exact.group_blind_value, BLIND, 1.4, (0, (2, 1.5)), "best by score alone"),
    )
    for values, color, width, style, label in lines:
        if values is not None:
            axis.plot(exact.levels, values, color=color, linewidth=width, linestyle=style, label=label)


def _padded(halves: Values, like: Values) -> Values:
    """Half widths as long as the values; the others have none."""
    return np.concatenate([np.nan_to_num(halves), np.zeros(len(like) - len(halves))])
