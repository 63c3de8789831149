"""The points of methods beside a frontier: from the paper, and from jobs, with exact values where they exist."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import equinox as eqx
import numpy as np
from jaxtyping import Float

from bisimulator import published
from bisimulator.core import Env, Values
from bisimulator.evaluation.goal_outcome import GoalOutcome, goal_outcomes, measured_moments
from bisimulator.evaluation.intervals import mean_and_half_width
from bisimulator.exact.frontier import Frontier
from bisimulator.goals import DEMANDS, Goal
from bisimulator.jobs.expectations import exact_expectations
from bisimulator.jobs.labels import labels
from bisimulator.jobs.store import Result, find_runs
from bisimulator.report._table_columns import group_recalls
from bisimulator.report.text import Summary

ROUNDED = 0.005  # the paper rounds recalls and gaps to .01, so a point may lie half of that to either side


@dataclasses.dataclass(frozen=True, eq=False)
class MethodPoint:
    """Where a method stands. Criteria that are not known of it are missing in `levels`."""

    method: str
    returns: Float[Values, "S"]  # one per seed; the paper has one number
    levels: Mapping[str, Float[Values, "S"]]  # by criterion: what is reached
    rates: Mapping[str, Float[Values, "S G"]] = dataclasses.field(default_factory=dict)  # for "min-" criteria
    source: str = "here"
    measured: str = ""  # "exact", or how it was simulated
    rounding: float = 0.0
    goals: Sequence[GoalOutcome] = ()  # what became of the goal it was trained for

    @classmethod
    def from_summary(
        cls, method: str, summary: Summary, source: str = "here", rounding: float = 0.0
    ) -> MethodPoint:
        """From metric -> (mean, half width), as `Evaluation.summary` and the paper's tables have it."""
        means = {metric: np.array([mean]) for metric, (mean, _) in summary.items()}
        recalls = [means[metric] for metric in group_recalls(means)]
        gaps = {"recall-gap": "recall_gap", "benefit-gap": "recall_gap", "credit-gap": "credit_gap"}
        levels = {criterion: means[metric] for criterion, metric in gaps.items() if metric in means}
        if not recalls:
            return cls(method, means["average_return"], levels, source=source, rounding=rounding)
        levels["min-recall"] = np.min(recalls, axis=0)
        rates = {"min-recall": np.stack(recalls, axis=1)}
        return cls(method, means["average_return"], levels, rates, source, rounding=rounding)

    @classmethod
    def from_job(cls, method: str, result: Result) -> MethodPoint:
        """From a finished job: exact values of every seed's policy if they exist, otherwise of its episodes."""
        expectations = exact_expectations(result)
        moments, returns, measured = measured_moments(result.outcome, expectations)
        levels, rates = {}, {}
        for name, kind in DEMANDS.items():
            demand = kind(0.0)
            each = np.stack([demand.rates(m, np) for m in moments])
            known = moments[:, :, kind.denominator] > 0
            reached = [float(demand.reached(r, k, np)) for r, k in zip(each, known, strict=True)]
            levels[name] = np.array(reached)
            if kind.per_group:
                rates[name] = each[:, :, 0]
        spec = result.spec
        goals = (
            goal_outcomes(Goal.parse(spec.goal), spec.make_env(), result.outcome, expectations)
            if spec.goal
            else ()
        )
        return cls(method, returns, levels, rates, measured=measured, goals=goals)

    @property
    def average_return(self) -> tuple[float, float]:
        """Mean and half width of the 95% interval over seeds."""
        return mean_and_half_width(self.returns)

    def level(self, criterion: str) -> float | None:
        """The mean over seeds of what is reached; None if it is not known."""
        reached = self.levels.get(criterion)
        return None if reached is None else mean_and_half_width(reached)[0]

    def regret(self, best: Frontier) -> tuple[float, float]:
        """How much more the optimum at each seed's own level earns: mean and half width; NaN if it is not known."""
        own = self.rates if best.kind.per_group else self.levels
        if best.criterion not in own:
            return float("nan"), float("nan")
        looser = -self.rounding if best.kind.per_group else self.rounding
        at = np.clip(own[best.criterion] + looser, best.kind.min_level, best.kind.max_level)
        return mean_and_half_width([best.best_at(x) - r for x, r in zip(at, self.returns, strict=True)])


def same_people(env: Env, other: Env) -> bool:
    """Whether two environments of a scenario have equal parameters, so that their returns can be compared."""
    return bool(eqx.tree_equal(env.params, other.params))


def comparable_runs(folder: Path, env: Env) -> tuple[list[Result], str]:
    """The finished jobs below a folder that are about the same people, and a sentence about those that are not."""
    runs = find_runs(folder)
    here = [result for result in runs if result.spec.scenario == env.name]
    same = [result for result in here if same_people(result.spec.make_env(), env)]
    if not runs:
        return [], f"There are no finished jobs in {folder}."
    others = {
        "on other scenarios": len(runs) - len(here),
        f"with other settings of {env.name}": len(here) - len(same),
    }
    left_out = [f"{n} {'job' if n == 1 else 'jobs'} {which}" for which, n in others.items() if n]
    return same, f"Left out: {', '.join(left_out)}." if left_out else ""


def job_points(results: Sequence[Result]) -> list[MethodPoint]:
    """The points of jobs, labelled by their method and by what differs between them."""
    names = labels([result.spec for result in results])
    return [MethodPoint.from_job(name, result) for name, result in zip(names, results, strict=True)]


def published_points(scenario: str) -> list[MethodPoint]:
    """The paper's points of a scenario; none for a scenario it does not have."""
    return [
        MethodPoint.from_summary(method, published.row(scenario, method), "paper", ROUNDED)
        for method in published.methods(scenario)
    ]
