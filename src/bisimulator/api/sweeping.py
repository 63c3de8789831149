"""`bisimulator.learned_frontier`: trainings with several levels of a goal, compared with the provable optimum."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bisimulator._html import html_table
from bisimulator._lazy import import_pandas
from bisimulator._text import aligned
from bisimulator.api._running import scenario_of
from bisimulator.api.training import TrainingResult, train_all
from bisimulator.core import Env, Values
from bisimulator.errors import shown
from bisimulator.evaluation.goal_outcome import GoalOutcome
from bisimulator.exact.chain import why_no_chain, with_true_scores
from bisimulator.exact.frontier import Frontier, frontier
from bisimulator.goals import Demand, Goal
from bisimulator.jobs.spec import Spec, make_spec

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


def learned_frontier(
    env: Env | str,
    method: str = "ppo",
    goals: str | Sequence[str | Goal] = "min-recall=0.7:1:0.05",
    *,
    seeds: int | Sequence[int] = 10,
    steps: int | None = None,
    out: str | Path | None = None,
    progress: bool = True,
    **options: Any,
) -> LearnedFrontier:
    """Train with several levels of one goal, and compare the results with the exact frontier.

    Args:
        env: an environment from `bisimulator.make`, or its name.
        method: a method of `bisimulator list` that is trained.
        goals: levels of one goal, `NAME=FROM:TO:STEP`, or a list of goals of the same name.
        seeds: how many seeds, or which ones.
        steps: environment steps of training per seed; 400,000 by default, 100,000 with `fast`.
        out: folder in which the jobs are stored; without it nothing is written.
        progress: show progress in a terminal or a notebook.
        **options: further options of `bisimulator.train`: solver, control, view, group_blind, fast, episodes.

    Returns:
        The result at every level, and the exact frontier where it exists.

    Raises:
        ValueError: if the goals have different names, or a value is wrong.
        JobsFailed: if no training succeeded.

    Example:
        >>> learned = bisimulator.learned_frontier("lending", "ppo", "min-recall=0.8:1:0.1", seeds=3)
        >>> learned.plot()
    """
    scenario, settings = scenario_of(env)
    specs = goal_specs(scenario, method, goals, settings=settings, seeds=seeds, steps=steps, **options)
    results, _ = train_all(specs, out, progress)
    return LearnedFrontier.of(results)


def goal_specs(scenario: str, method: str, goals: str | Sequence[str | Goal], **fields: Any) -> list[Spec]:
    """One job per level of a goal."""
    if not isinstance(goals, Sequence):
        raise TypeError(
            f"goals must be NAME=FROM:TO:STEP or a list, got {shown(goals)}; try min-recall=0.7:1:0.05"
        )
    asked = Goal.sweep(goals)
    names = {demand.name for goal in asked for demand in goal.demands}
    if len(names) != 1:
        raise ValueError(
            f"a frontier has one kind of goal, got {', '.join(sorted(names)) or 'none'}; "
            "sweep each of them by itself"
        )
    fields.setdefault("curve_every", 0)
    return [make_spec(scenario, method, goal=goal, **fields) for goal in asked]


@dataclasses.dataclass(frozen=True, eq=False)
class LearnedFrontier:
    """The results of trainings with several levels of a goal, and the exact frontier."""

    results: tuple[TrainingResult, ...]  # by ascending level
    exact: Frontier | None  # None if there is no exact answer

    @classmethod
    def of(cls, results: Sequence[TrainingResult]) -> LearnedFrontier:
        """From trainings that differ only in the level of their goal."""
        ordered = tuple(sorted(results, key=lambda result: _demand(result).level))
        first = ordered[0]
        blind = first.spec.solver.group_blind
        return cls(ordered, _exact(first.spec.make_env(), _demand(first), group_blind=blind))

    @property
    def goal(self) -> str:
        """The name of the goal, such as "min-recall"."""
        return _demand(self.results[0]).name

    @property
    def outcomes(self) -> list[GoalOutcome]:
        """The result at every level."""
        return [result.goal_outcomes[0] for result in self.results]

    @property
    def asked(self) -> Float[Values, "L"]:
        """The levels of the goal."""
        return np.array([_demand(result).level for result in self.results])

    def to_frame(self) -> pandas.DataFrame:
        """One row per level."""
        rows = [
            {
                "asked": outcome.asked,
                "reached": outcome.reached[0],
                "violation": outcome.violation[0],
                "average_return": outcome.average_return[0],
                "average_return_ci95": outcome.average_return[1],
                "best_stationary": outcome.best_stationary,
                "best_any": outcome.best_any,
                "regret_percent": outcome.regret[0],
            }
            for outcome in self.outcomes
        ]
        return import_pandas().DataFrame(rows)

    def plot(self) -> Figure:
        """The learned points and the exact frontier."""
        from bisimulator.report.figures.learned_frontier_figure import draw_learned

        return draw_learned(self.results[0].spec, self.outcomes, self.exact)

    @property
    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                f"{o.asked:g}",
                f"{o.reached[0]:.3f} ± {o.reached[1]:.3f}",
                f"{o.average_return[0]:.0f} ± {o.average_return[1]:.0f}",
                "" if np.isnan(o.best_stationary) else f"{o.best_stationary:.0f}",
                "" if np.isnan(o.best_any) else f"{o.best_any:.0f}",
            )
            for o in self.outcomes
        ]

    @property
    def title(self) -> str:
        spec = self.results[0].spec
        blind = ", group-blind" if spec.solver.group_blind else ""
        return f"{spec.method} on {spec.scenario}{blind}: levels of {self.goal}, {len(spec.seeds)} seeds"

    @property
    def head(self) -> tuple[str, ...]:
        return ("goal", "reached", "return", "best by score and group", "best of any policy")

    def __repr__(self) -> str:
        return "\n".join([self.title, *aligned([self.head, *self._rows])])

    def _repr_html_(self) -> str:
        return html_table(self.title, self.head, self._rows)


def _demand(result: TrainingResult) -> Demand:
    return Goal.parse(result.spec.goal).demands[0]


def _exact(env: Env, demand: Demand, *, group_blind: bool) -> Frontier | None:
    true = with_true_scores(env)
    return (
        None
        if demand.raise_only or why_no_chain(true)
        else frontier(true, demand.name, group_blind=group_blind)
    )
