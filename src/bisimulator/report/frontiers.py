"""Frontiers as text and as a figure, with the points of methods on them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator import published
from bisimulator.core import Values
from bisimulator.exact.frontier import Frontier
from bisimulator.jobs.labels import labels
from bisimulator.jobs.store import Result
from bisimulator.report._table_columns import group_recalls
from bisimulator.report.certificates import group_cells, group_columns
from bisimulator.report.text import Summary, number, plain_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDED = 0.005  # the paper rounds recalls and gaps to .01, so a point may lie half of that to either side
AXES = {
    "min-recall": "smallest recall of a group",
    "recall-gap": "recall gap",
    "credit-gap": "credit gap, in points",
}


@dataclasses.dataclass(frozen=True)
class MethodPoint:
    """Where a method stands: from the paper, or from a job."""

    method: str
    average_return: float
    recalls: tuple[float, ...] = ()  # one per group, if known
    recall_gap: float | None = None
    credit_gap: float | None = None
    source: str = "here"
    rounding: float = 0.0

    @classmethod
    def from_summary(
        cls, method: str, summary: Summary, source: str = "here", rounding: float = 0.0
    ) -> MethodPoint:
        """From metric -> (mean, half width), as `Evaluation.summary` and `Result.summary` have it."""
        means = {metric: mean for metric, (mean, _) in summary.items()}
        recalls = tuple(means[metric] for metric in group_recalls(means))
        gaps = means.get("recall_gap"), means.get("credit_gap")
        return cls(method, means["average_return"], recalls, *gaps, source, rounding)

    def level(self, criterion: str) -> float | None:
        """The point's level of a criterion; None if it is not known."""
        levels = {
            "min-recall": min(self.recalls, default=None),
            "recall-gap": self.recall_gap,
            "credit-gap": self.credit_gap,
        }
        return levels[criterion]

    def regret(self, best: Frontier) -> float:
        """How much more the optimum at this point's own level earns; NaN if the level is not known."""
        level = self.level(best.criterion)
        if level is None:
            return float("nan")
        if best.criterion == "min-recall":
            return best.best_at(np.clip(np.array(self.recalls) - self.rounding, 0, 1)) - self.average_return
        return best.best_at(max(level + self.rounding, 0.0)) - self.average_return


def job_points(results: Sequence[Result]) -> list[MethodPoint]:
    """The points of jobs, labelled by their method and by what differs between them."""
    names = labels([result.spec for result in results])
    return [MethodPoint.from_summary(n, r.summary) for n, r in zip(names, results, strict=True)]


def published_points(scenario: str) -> list[MethodPoint]:
    """The paper's points of a scenario; none for a scenario it does not have."""
    return [
        MethodPoint.from_summary(method, published.row(scenario, method), "paper", ROUNDED)
        for method in published.methods(scenario)
    ]


def print_frontier(
    best: Frontier, points: Sequence[MethodPoint], group_names: Sequence[str], console: Console
) -> None:
    """Print the frontier, the regret of the points, and what explains the tables."""
    console.print(frontier_table(best, group_names), "")
    if points:
        console.print(regret_table(best, points), "")
    for sentence in explanations(best):
        console.print(sentence, soft_wrap=True)


def frontier_table(best: Frontier, names: Sequence[str] = ()) -> Table:
    recalls = group_columns("recall", names or [str(g + 1) for g in range(best.recalls.shape[1])])
    numbers = [best.criterion, "any policy", "upper bound", "stationary", *recalls, "credit gap"]
    table = plain_table(escape(f"The best return on {best.env}"), [], [*numbers, ""])
    for i, level in enumerate(best.levels):
        cells = [best.value[i] if best.attained else np.nan, best.upper_bound[i], best.stationary_value[i]]
        cells += [*group_cells(best.recalls[i]), best.credit_gap[i]]
        mark = "levels down" if best.levelling_down[i] else ""
        table.add_row(f"{level:.3f}", *(number(float(cell)) for cell in cells), mark)
    return table


def regret_table(best: Frontier, results: Sequence[MethodPoint]) -> Table:
    table = plain_table(
        f"Regret at each one's own {best.criterion}", ["", "method"], ["return", "regret", "%"]
    )
    regrets = {result: result.regret(best) for result in results}
    for result in sorted(results, key=lambda r: (np.isnan(regrets[r]), regrets[r])):
        share = regrets[result] / (result.average_return + regrets[result])
        table.add_row(
            result.source,
            escape(result.method),
            number(result.average_return),
            number(regrets[result]),
            number(100 * share),
        )
    return table


def explanations(best: Frontier) -> list[str]:
    """Sentences that explain the table."""
    sentences = []
    if best.levelling_down.any():
        sentences.append(
            '"levels down": the level is reached by giving a group a lower recall than the best policy without any '
            "demand gives it. Equal is not the same as better; min-recall never rewards that."
        )
    if not best.attained:
        sentences.append(
            "The bounds are those of a bank that knows everybody's conscientiousness: no policy exceeds them, but "
            "perhaps none attains them. The stationary column is attained."
        )
    if np.isnan(best.value).any():
        sentences.append("Empty rows: no policy reaches that level.")
    return sentences


def draw_frontier(best: Frontier, results: Sequence[MethodPoint] = ()) -> Figure:
    """The frontier, with the methods' points numbered and their regrets in the legend."""
    from matplotlib import rc_context

    with rc_context({"text.parse_math": False}):  # a $ in a method's name is a dollar sign
        return _draw_frontier(best, results)


def _draw_frontier(best: Frontier, results: Sequence[MethodPoint]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.add_subplot()
    known = [(result, level) for result in results if (level := result.level(best.criterion)) is not None]
    label = "any policy (proven optimum)" if best.attained else "any policy (upper bound)"
    axes.plot(*_extended(best, [level for _, level in known]), color="black", label=label)
    stationary = "policies that look at score and group only"
    axes.plot(best.levels, best.stationary_value, color="black", linestyle="--", label=stationary)
    down = best.levelling_down
    if down.any():
        axes.scatter(
            best.levels[down], best.upper_bound[down], s=12, color="crimson", label="levels a group down"
        )
    for place, (result, level) in enumerate(
        sorted(known, key=lambda point: -point[0].average_return), start=1
    ):
        regret = result.regret(best)
        axes.scatter(
            level,
            result.average_return,
            marker="^" if result.source == "paper" else "o",
            color="tab:blue" if result.source == "paper" else "tab:orange",
            label=f"{place}  {result.method}, {result.source}: regret {regret:.0f}",
            zorder=3,
        )
        axes.annotate(
            str(place), (level, result.average_return), (4, 3), textcoords="offset points", fontsize=7
        )
    axes.set_xlabel(AXES[best.criterion])
    axes.set_ylabel("average return")
    axes.set_title(f"The best return on {best.env}", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=7, loc="outside right upper")
    return figure


def _extended(best: Frontier, at: Sequence[float]) -> tuple[Values, Values]:
    """The curve, extended to points beyond the loosest level if the demand does not bind there any more."""
    order = best.levels.argsort()
    levels, values = best.levels[order], best.upper_bound[order]
    loosest = 0 if best.criterion == "min-recall" else -1
    beyond = min(at, default=np.inf) if loosest == 0 else max(at, default=-np.inf)
    unconstrained = np.allclose(
        best.recalls[order][loosest], best.unconstrained_recalls, atol=1e-6, equal_nan=True
    )
    if loosest == 0 and unconstrained and beyond < levels[0]:
        return np.append(beyond, levels), np.append(values[0], values)
    if loosest == -1 and unconstrained and beyond > levels[-1]:
        return np.append(levels, beyond), np.append(values, values[-1])
    return levels, values
