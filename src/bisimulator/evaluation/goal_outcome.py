"""The result of a goal: the level reached, the return, and how far it is from the provable optimum."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from bisimulator._html import html_table
from bisimulator.core import Env, Outcome, Values
from bisimulator.evaluation.intervals import mean_and_half_width
from bisimulator.exact.chain import Expectation, why_no_chain, with_true_scores
from bisimulator.exact.frontier import frontier
from bisimulator.goals import Demand, Goal
from bisimulator.goals.moments import M


@dataclasses.dataclass(frozen=True, eq=False)
class GoalOutcome:
    """The result of one demand of a goal. Pairs are (mean, half width of the 95% interval) over seeds."""

    demand: str
    asked: float
    measured: str  # "exact", or "simulated, N episodes"
    reached: tuple[float, float]
    violation: tuple[float, float]  # by how much each seed misses the level, 0 if it does not
    average_return: tuple[float, float]
    best_any: float  # the provable optimum of any policy at the level reached; NaN without a frontier
    best_stationary: float  # of the best policy found that decides by score and group; NaN without a frontier
    regret: tuple[float, float]  # in % of the provable optimum, seed by seed

    def __str__(self) -> str:
        reached = (
            f"Goal: {self.demand}. Reached ({self.measured}): {_pair(self.reached, 3)} "
            f"(violation {_pair(self.violation, 3)})."
        )
        earned = f" Return: {_pair(self.average_return, 0)}"
        if np.isnan(self.best_any):
            return f"{reached}{earned}; there is no exact frontier to compare it with."
        return (
            f"{reached}{earned}. At this level no policy can return more than {self.best_any:.0f} (regret "
            f"{_pair(self.regret, 1)}%), and the best one that decides by score and group alone returns "
            f"{self.best_stationary:.0f}."
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(f"Goal: {self.demand}", [], [("", str(self))])


def goal_outcomes(
    goal: Goal, env: Env, outcome: Outcome, expectations: Sequence[Expectation] | None = None
) -> list[GoalOutcome]:
    """The result of every demand of a goal.

    Args:
        goal: the goal.
        env: the environment.
        outcome: evaluation episodes, with leading axes (seeds, episodes).
        expectations: exact values of each seed's policy, which are used instead of the episodes if they are known.
    """
    moments, returns, measured = measured_moments(outcome, expectations)
    return [_measure(demand, env, moments, returns, measured) for demand in goal.demands]


def measured_moments(
    outcome: Outcome, expectations: Sequence[Expectation] | None
) -> tuple[Float[Values, "S G M"], Float[Values, "S"], str]:
    """Each seed's moments and return, and how they were measured: exactly if that is possible, else on episodes."""
    if expectations is None:
        returns = np.asarray(outcome.count("reward"), np.float64).sum(-1).mean(1)
        return outcome_moments(outcome), returns, f"simulated, {outcome.counts[..., 0, 0].size} episodes"
    returns = np.array([e.average_return for e in expectations])
    return np.stack([e.moments for e in expectations]), returns, "exact"


def outcome_moments(outcome: Outcome) -> Float[Values, "S G M"]:
    """The moments of every seed's episodes together."""
    counts = {name: np.asarray(outcome.count(name), np.float64).sum(1) for name in _COUNTED.values()}
    final = np.asarray(outcome.true_scores, np.float64).sum(1)
    moments = np.zeros((*final.shape[:2], M.FINAL + final.shape[-1]))
    for place, name in _COUNTED.items():
        moments[..., place] = counts[name]
    if outcome.tallies is not None:  # as `group_moments`
        episodes = outcome.counts.shape[1]
        moments[..., M.QUALIFIED] = np.asarray(outcome.demand, np.float64).sum(1) + episodes
        moments[..., M.APPROVED_QUALIFIED] = np.asarray(outcome.supply, np.float64).sum(1)
    moments[..., M.PEOPLE] = moments[..., M.ENDED] = final.sum(-1)
    moments[..., M.FINAL :] = final
    return moments


_COUNTED = {
    M.REWARD: "reward",
    M.APPLIED: "applied",
    M.APPROVED: "approved",
    M.QUALIFIED: "qualified",
    M.APPROVED_QUALIFIED: "approved_qualified",
}


def _measure(
    demand: Demand, env: Env, moments: Float[Values, "S G M"], returns: Float[Values, "S"], measured: str
) -> GoalOutcome:
    rates = [demand.rates(m, np) for m in moments]
    known = [m[:, demand.denominator] > 0 for m in moments]
    reached = np.array([float(demand.reached(r, k, np)) for r, k in zip(rates, known, strict=True)])
    missed = np.array(
        [max(0.0, -float(demand.slack(r, k, np).min())) for r, k in zip(rates, known, strict=True)]
    )
    best, best_any, stationary = _best(demand, env, reached)
    return GoalOutcome(
        demand=demand.text,
        asked=demand.level,
        measured=measured,
        reached=mean_and_half_width(reached),
        violation=mean_and_half_width(missed),
        average_return=mean_and_half_width(returns),
        best_any=best_any,
        best_stationary=stationary,
        regret=mean_and_half_width(100 * (best - returns) / np.maximum(abs(best), 1e-9)),
    )


def _best(demand: Demand, env: Env, reached: Float[Values, "S"]) -> tuple[Float[Values, "S"], float, float]:
    """The provable optimum at what each seed reached; at what all reached on average, it and the best stationary."""
    true = with_true_scores(env)
    if why_no_chain(true):
        return np.full(len(reached), np.nan), float("nan"), float("nan")
    levels = np.clip(reached, demand.min_level, demand.max_level)
    front = frontier(true, demand.name, [float(levels.mean())])
    best = np.array([front.best_at(level) for level in levels])
    return best, float(front.upper_bound[0]), float(front.stationary_value[0])


def _pair(value: tuple[float, float], digits: int) -> str:
    mean, half = value
    return f"{mean:.{digits}f}" + ("" if np.isnan(half) else f" ± {half:.{digits}f}")
