"""`bisimulator certify` and `bisimulator frontier`: how fair a policy is with proof, and the best that is possible."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator import published
from bisimulator.core import Env, make
from bisimulator.evaluation.certify import Estimate, certify
from bisimulator.exact.certificate import HORIZONS, SIGNALS, Certificate
from bisimulator.exact.frontier import Frontier, frontier
from bisimulator.people._bins import labels
from bisimulator.report._table_columns import group_recalls
from bisimulator.report.rule_tables import Summary, number, plain_table

Array = NDArray[np.float64]

ROUNDED = (
    0.005  # the paper's recalls and gaps are rounded to .01, so a point may lie half of that to either side
)
_MOST_GROUPS = 4  # with columns of their own
AXES = {
    "min-recall": "smallest recall of a group",
    "recall-gap": "difference of recalls",
    "credit-gap": "difference of final scores, in points",
}


@dataclasses.dataclass(frozen=True)
class MethodPoint:
    """A method's point: from the paper, or from runs of one's own."""

    method: str
    average_return: float
    recalls: tuple[float, ...] = ()  # one a group, where known
    recall_gap: float | None = None
    credit_gap: float | None = None
    source: str = "here"
    rounding: float = 0.0

    @classmethod
    def from_summary(
        cls, method: str, summary: Summary, source: str = "here", rounding: float = 0.0
    ) -> MethodPoint:
        """From metric -> (mean, half width), as `Evaluation.summary` and the summary of a run give it."""
        means = {metric: mean for metric, (mean, _) in summary.items()}
        recalls = tuple(means[metric] for metric in group_recalls(means))
        gaps = means.get("recall_gap"), means.get("credit_gap")
        return cls(method, means["average_return"], recalls, *gaps, source, rounding)

    def level(self, criterion: str) -> float | None:
        """Where the point stands on the criterion's axis; None if that is not known."""
        levels = {
            "min-recall": min(self.recalls, default=None),
            "recall-gap": self.recall_gap,
            "credit-gap": self.credit_gap,
        }
        return levels[criterion]

    def regret(self, best: Frontier) -> float:
        """What the best policy at this point's own level earns more; NaN where the level is not known."""
        level = self.level(best.criterion)
        if level is None:
            return float("nan")
        if best.criterion == "min-recall":
            return best.best_at(np.clip(np.array(self.recalls) - self.rounding, 0, 1)) - self.average_return
        return best.best_at(max(level + self.rounding, 0.0)) - self.average_return


def published_results(scenario: str) -> list[MethodPoint]:
    """The paper's points of a scenario; none for a scenario it does not have."""
    return [
        MethodPoint.from_summary(method, published.row(scenario, method), "paper", ROUNDED)
        for method in published.methods(scenario)
    ]


def show_run_certificate(folder: Path, *, seed: int | None, gamma: float, console: Console) -> None:
    """The certificate of one seed's trained policy, in the environment as the policy sees it."""
    from bisimulator.jobs.run import load_policies

    result, policies = load_policies(folder)
    seeds = result.spec.seeds
    if seed is not None and seed not in seeds:
        raise ValueError(f"seed {seed} was not trained; choose one of {', '.join(map(str, seeds))}")
    place = 0 if seed is None else seeds.index(seed)
    env, policy = policies[place]
    title = f"{result.spec.method} on {result.spec.scenario}, seed {seeds[place]}"
    show_certificate(env, policy, title=title, console=console, gamma=gamma)


def show_certificate(
    env: Env, policy: Any, *, title: str, console: Console, gamma: float = 0.99, **simulation: Any
) -> Certificate | Estimate:
    """Print and return the certificate (or the estimate, said to be one) of a policy."""
    found = certify(env, policy, gamma, **simulation)
    if isinstance(found, Estimate):
        console.print(f"{title}: {found}", soft_wrap=True, markup=False)
        return found
    console.print(certificate_table(found, title, env.group_names), "")
    console.print(found.explanation, soft_wrap=True)
    view = found.main
    if view.worst_pair is not None:
        g, h = (env.group_names[group] for group in view.groups)
        one, other = (score_names(env)[score] for score in view.worst_pair)
        console.print(
            f"Of those matched at the start, a person of group {g} with score {one} and one of group {h} with score "
            f"{other} differ most: by {view.worst_distance:.2f}.",
            soft_wrap=True,
            markup=False,
        )
    return found


def score_names(env: Env) -> list[str]:
    """What scores are called: the bins that they stand for, or numbers."""
    edges = env.params.score_edges
    return labels(np.array(edges)) if edges else [str(score) for score in range(env.params.num_scores)]


def certificate_table(certificate: Certificate, title: str, groups: Sequence[str]) -> Table:
    numbers = [*_group_columns("group", groups), "gap", "bound", "slack"]
    table = plain_table(f"{title} on {certificate.env}: exact, per person", ["what", "horizon"], numbers)
    for horizon in HORIZONS:
        for signal, words in SIGNALS.items():
            view = certificate.views.get((signal, horizon))
            if view is not None:
                cells = [*_group_cells(view.values), view.gap, view.bound, max(view.slack, 0.0)]
                table.add_row(words, HORIZONS[horizon], *(number(cell) for cell in cells))
        table.add_section()
    return table


def _group_columns(what: str, groups: Sequence[str]) -> list[str]:
    """A column a group; of many groups the lowest and the highest."""
    if len(groups) > _MOST_GROUPS:
        return [f"lowest {what}", f"highest {what}"]
    return [escape(f"{what} {group}") for group in groups]


def _group_cells(values: Array) -> list[float]:
    return [values.min(), values.max()] if values.size > _MOST_GROUPS else list(values)


def show_frontier(
    scenario: str,
    *,
    criterion: str,
    levels: Sequence[float] | None,
    settings: Mapping[str, Any],
    results: Sequence[MethodPoint] = (),
    figure: Path | None = None,
    console: Console,
) -> Frontier:
    """Print and return the frontier, with the regret of the paper's points (at its parameters) and of `results`."""
    env = make(scenario, **settings)
    best = frontier(env, criterion, levels)
    points = [*results, *([] if settings else published_results(scenario))]
    console.print(frontier_table(best, env.group_names), "")
    if points:
        console.print(regret_table(best, points), "")
    for sentence in remarks(best):
        console.print(sentence, soft_wrap=True)
    if figure is not None:
        draw_frontier(best, points).savefig(figure, dpi=150)
        console.print(f"Figure: {figure}", soft_wrap=True, markup=False)
    return best


def frontier_table(best: Frontier, names: Sequence[str] = ()) -> Table:
    recalls = _group_columns("recall", names or [str(g + 1) for g in range(best.recalls.shape[1])])
    numbers = [best.criterion, "any policy", "proven at most", "stationary", *recalls, "credit gap"]
    table = plain_table(f"The best return on {best.env}", [], [*numbers, ""])
    for i, level in enumerate(best.levels):
        cells = [best.value[i] if best.attained else np.nan, best.upper_bound[i], best.stationary_value[i]]
        cells += [*_group_cells(best.recalls[i]), best.credit_gap[i]]
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
            result.method,
            number(result.average_return),
            number(regrets[result]),
            number(100 * share),
        )
    return table


def remarks(best: Frontier) -> list[str]:
    """What the table does not say by itself."""
    said = []
    if best.levelling_down.any():
        said.append(
            '"levels down": the level is reached by giving a group a lower recall than the best policy without any '
            "demand gives it. Equal is not the same as better; min-recall never rewards that."
        )
    if not best.attained:
        said.append(
            "Proven bounds here are those of a bank that knows everybody's conscientiousness: no policy exceeds them, "
            "and none need attain them. The stationary column is attained."
        )
    if np.isnan(best.value).any():
        said.append("Empty rows: no policy reaches that level.")
    return said


def draw_frontier(best: Frontier, results: Sequence[MethodPoint] = ()) -> Any:
    """The frontier with the methods' points on it, numbered, and their regrets, as a matplotlib figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    axes = figure.add_subplot()
    known = [(result, level) for result in results if (level := result.level(best.criterion)) is not None]
    label = "any policy (proven)" if best.attained else "any policy, at most (proven)"
    axes.plot(*_extended(best, [level for _, level in known]), color="black", label=label)
    stationary = "policies on score and group only"
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
    axes.set_ylabel("return of an episode")
    axes.set_title(f"The best return on {best.env}", loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=7, loc="outside right upper")
    return figure


def _extended(best: Frontier, at: Sequence[float]) -> tuple[Array, Array]:
    """The curve, carried on flat to points beyond the loosest level, if the demand does not bind there any more."""
    order = best.levels.argsort()
    levels, values = best.levels[order], best.upper_bound[order]
    loosest = 0 if best.criterion == "min-recall" else -1
    beyond = min(at, default=np.inf) if loosest == 0 else max(at, default=-np.inf)
    free = np.allclose(best.recalls[order][loosest], best.free_recalls, atol=1e-6, equal_nan=True)
    if loosest == 0 and free and beyond < levels[0]:
        return np.append(beyond, levels), np.append(values[0], values)
    if loosest == -1 and free and beyond > levels[-1]:
        return np.append(levels, beyond), np.append(values, values[-1])
    return levels, values
