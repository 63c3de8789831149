"""Frontiers as text, as rows of a file and as a figure, with the points of methods on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator.core import Values
from bisimulator.exact.frontier import Frontier
from bisimulator.goals import Demand
from bisimulator.report.certificates import group_cells, group_columns
from bisimulator.report.frontier_points import MethodPoint
from bisimulator.report.text import number, plain_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def print_frontier(best: Frontier, points: Sequence[MethodPoint], console: Console) -> None:
    """Print the frontier, the regret of the points, the results of their goals, and what explains the tables."""
    console.print(frontier_table(best), "")
    if points:
        console.print(regret_table(best, points), "")
    if any(point.goals for point in points):
        console.print(goal_table(points), "")
    for sentence in explanations(best):
        console.print(sentence, soft_wrap=True)


def frontier_table(best: Frontier) -> Table:
    """One row per level."""
    rates = group_columns(best.rate_name, best.group_names)
    blind = [] if best.group_blind_value is None else ["group-blind"]
    numbers = [best.criterion, "any policy", "upper bound", "stationary", *blind, *rates, "credit gap"]
    table = plain_table(escape(f"The best return on {best.env}"), [], [*numbers, ""])
    for i, level in enumerate(best.levels):
        cells = [best.value[i] if best.attained else np.nan, best.upper_bound[i], best.stationary_value[i]]
        cells += [] if best.group_blind_value is None else [best.group_blind_value[i]]
        cells += [*group_cells(best.rates[i]), best.credit_gap[i]]
        mark = "levels down" if best.levelling_down[i] else ""
        table.add_row(f"{level:.3f}", *(number(float(cell)) for cell in cells), mark)
    return table


def frontier_rows(best: Frontier) -> tuple[list[str], list[list[str]]]:
    """The columns and rows of a file: returns of each kind of policy, and its recalls."""
    columns: dict[str, Values] = {best.criterion: best.levels}
    if best.attained:
        columns["any_policy"] = best.value
    columns |= {"upper_bound": best.upper_bound, "stationary": best.stationary_value}
    by_group = {"recall": best.recalls, "stationary_recall": best.stationary_recalls}
    if best.group_blind_value is not None and best.group_blind_recalls is not None:
        columns["group_blind"] = best.group_blind_value
        by_group["group_blind_recall"] = best.group_blind_recalls
    for what, values in by_group.items():
        columns |= {f"{what}_{name}": values[:, g] for g, name in enumerate(best.group_names)}
    columns["credit_gap"] = best.credit_gap
    return list(columns), [[repr(float(x)) for x in row] for row in zip(*columns.values(), strict=True)]


def regret_table(best: Frontier, points: Sequence[MethodPoint]) -> Table:
    """How much more the optimum at each point's own level earns, the smallest regret first."""
    head = f"Regret at each one's own {best.criterion}"
    table = plain_table(head, ["", "method"], [best.criterion, "return", "regret", "%", ""])
    regrets = {point: point.regret(best) for point in points}
    for point in sorted(points, key=lambda p: (np.isnan(regrets[p][0]), regrets[p][0])):
        mean, level = regrets[point][0], point.level(best.criterion)
        table.add_row(
            point.source,
            escape(point.method),
            number(np.nan if level is None else level, digits=3),
            number(*point.average_return),
            number(*regrets[point]),
            number(100 * mean / (point.average_return[0] + mean)),
            point.measured,
        )
    return table


def goal_table(points: Sequence[MethodPoint]) -> Table:
    """The goals of the jobs that were trained with one, and the levels reached."""
    numbers = ["reached", "violation", "return", "regret %", ""]
    table = plain_table("Goals and levels reached, means over seeds", ["method", "goal"], numbers)
    for point in points:
        for goal in point.goals:
            table.add_row(
                escape(point.method),
                goal.demand,
                number(*goal.reached, digits=3),
                number(*goal.violation, digits=3),
                number(*goal.average_return),
                number(*goal.regret),
                goal.measured,
            )
    return table


def explanations(best: Frontier) -> list[str]:
    """Sentences that explain the table."""
    sentences = []
    if best.levelling_down.any():
        sentences.append(
            f'"levels down": the level is reached by giving a group a lower {best.rate_name} than the best policy '
            'without any demand gives it. Equal is not the same as better; the "min-" criteria never reward that.'
        )
    if best.group_blind_value is not None:
        sentences.append(
            "Stationary policies look at score and group, group-blind ones at the score only. Both columns are "
            "attained, but not proven to be the best of their kind."
        )
    if not best.attained:
        sentences.append(
            "The bounds are those of a bank that knows everybody's conscientiousness: no policy exceeds them, but "
            "perhaps none attains them. The stationary column is attained."
        )
    if np.isnan(best.upper_bound).any():
        sentences.append("Empty rows: no policy reaches that level.")
    elif np.isnan([values for _, values in best.attained_columns]).any():
        sentences.append("Empty cells: no such policy was found at that level.")
    return sentences


def draw_frontier(best: Frontier, points: Sequence[MethodPoint] = ()) -> Figure:
    """The frontier, with the methods' points numbered and their regrets in the legend."""
    from matplotlib import rc_context

    with rc_context({"text.parse_math": False}):  # a $ in a method's name is a dollar sign
        return _draw_frontier(best, points)


def _draw_frontier(best: Frontier, points: Sequence[MethodPoint]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.add_subplot()
    known = [(point, level) for point in points if (level := point.level(best.criterion)) is not None]
    label = "any policy (proven optimum)" if best.attained else "any policy (upper bound)"
    axes.plot(*_extended(best, [level for _, level in known]), color="black", label=label)
    for (what, values), style in zip(best.attained_columns, ("--", ":"), strict=False):
        axes.plot(best.levels, values, color="black", linestyle=style, label=f"policies that look at {what}")
    down = best.levelling_down
    if down.any():
        axes.scatter(
            best.levels[down], best.upper_bound[down], s=12, color="crimson", label="levels a group down"
        )
    ranked = sorted(known, key=lambda pair: -pair[0].average_return[0])
    for place, (point, level) in enumerate(ranked, start=1):
        height = point.average_return[0]
        axes.scatter(
            level,
            height,
            marker="^" if point.source == "paper" else "o",
            color="tab:blue" if point.source == "paper" else "tab:orange",
            label=f"{place}  {point.method}, {point.source}: regret {point.regret(best)[0]:.0f}",
            zorder=3,
        )
        axes.annotate(str(place), (level, height), (4, 3), textcoords="offset points", fontsize=7)
    axes.set_xlabel(axis_label(best.kind))
    axes.set_ylabel("average return")
    axes.set_title(f"The best return on {best.env}", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=7, loc="outside right upper")
    return figure


def axis_label(kind: type[Demand]) -> str:
    """What the levels of a demand are, in words."""
    if kind.per_group:
        return f"smallest {kind.rate} of a group"
    return kind.name.replace("-", " ") + ("" if kind.max_level == 1 else f", in {kind.unit}")


def _extended(best: Frontier, at: Sequence[float]) -> tuple[Values, Values]:
    """The curve, extended to points beyond the loosest level if the demand does not bind there any more."""
    order = best.levels.argsort()
    levels, values = best.levels[order], best.upper_bound[order]
    loosest = 0 if best.kind.per_group else -1
    beyond = min(at, default=np.inf) if loosest == 0 else max(at, default=-np.inf)
    unconstrained = np.allclose(
        best.rates[order][loosest], best.unconstrained_rates, atol=1e-6, equal_nan=True
    )
    if loosest == 0 and unconstrained and beyond < levels[0]:
        return np.append(beyond, levels), np.append(values[0], values)
    if loosest == -1 and unconstrained and beyond > levels[-1]:
        return np.append(levels, beyond), np.append(values, values[-1])
    return levels, values
