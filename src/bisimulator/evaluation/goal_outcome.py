"""What became of a goal: what was asked, what was reached, and how far the return is from the provable optimum."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from bisimulator._html import html_table
from bisimulator.core import Env, Outcome, Values
from bisimulator.evaluation.intervals import mean_and_half_width
from bisimulator.exact.chain import why_no_chain
from bisimulator.exact.criteria import CRITERIA
from bisimulator.exact.frontier import frontier
from bisimulator.goals import Demand, Goal
from bisimulator.goals.moments import M


@dataclasses.dataclass(frozen=True, eq=False)
class GoalOutcome:
    """One demand of a goal, measured on evaluation episodes. Pairs are (mean, half width of the 95% interval)."""

    demand: str
    asked: float
    reached: tuple[float, float]
    violation: tuple[float, float]  # by how much each seed misses the level, 0 if it does not
    average_return: tuple[float, float]
    best_any: float  # the provable optimum of any policy at what was reached; NaN if there is no frontier
    best_stationary: (
        float  # the best found that decides by score and group alone; NaN if there is no frontier
    )
    regret: tuple[float, float]  # in % of the provable optimum, seed by seed

    def __str__(self) -> str:
        reached = (
            f"Asked: {self.demand}. Reached: {_pair(self.reached, 3)} (violation {_pair(self.violation, 3)})."
        )
        earned = f" Return: {_pair(self.average_return, 0)}"
        if np.isnan(self.best_any):
            return f"{reached}{earned}; there is no exact frontier to compare it with."
        return (
            f"{reached}{earned}. At what was reached, no policy can return more than {self.best_any:.0f} (regret "
            f"{_pair(self.regret, 1)}%), and the best that decides by score and group alone returns "
            f"{self.best_stationary:.0f}."
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(f"Goal: {self.demand}", [], [("", str(self))])


def goal_outcomes(goal: Goal, env: Env, outcome: Outcome) -> list[GoalOutcome]:
    """Every demand of a goal, from an outcome with leading axes (seeds, episodes)."""
    moments = outcome_moments(outcome)
    returns = np.asarray(outcome.count("reward"), np.float64).sum(-1).mean(1)
    return [_measure(demand, env, moments, returns) for demand in goal.demands]


def outcome_moments(outcome: Outcome) -> Float[Values, "S G M"]:
    """The moments of every seed's episodes together."""
    counts = {name: np.asarray(outcome.count(name), np.float64).sum(1) for name in _COUNTED.values()}
    final = np.asarray(outcome.true_scores, np.float64).sum(1)
    moments = np.zeros((*final.shape[:2], M.FINAL + final.shape[-1]))
    for place, name in _COUNTED.items():
        moments[..., place] = counts[name]
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
    demand: Demand, env: Env, moments: Float[Values, "S G M"], returns: Float[Values, "S"]
) -> GoalOutcome:
    rates = [demand.rates(m, np) for m in moments]
    known = [m[:, demand.denominator] > 0 for m in moments]
    reached = np.array([float(demand.reached(r, k, np)) for r, k in zip(rates, known, strict=True)])
    missed = np.array(
        [max(0.0, -float(demand.slack(r, k, np).min())) for r, k in zip(rates, known, strict=True)]
    )
    best, stationary = _best(demand, env, rates, reached)
    return GoalOutcome(
        demand=demand.text,
        asked=demand.level,
        reached=mean_and_half_width(reached),
        violation=mean_and_half_width(missed),
        average_return=mean_and_half_width(returns),
        best_any=float(best.mean()),
        best_stationary=stationary,
        regret=mean_and_half_width(100 * (best - returns) / np.maximum(abs(best), 1e-9)),
    )


def _best(
    demand: Demand, env: Env, rates: list[Values], reached: Float[Values, "S"]
) -> tuple[Float[Values, "S"], float]:
    """The provable optimum at what each seed reached, and the best stationary return at what all reached."""
    model = env.scenario.person_model
    if model is None or demand.name not in CRITERIA:
        return np.full(len(reached), np.nan), float("nan")
    true = env.with_omega(model.true_omega(env.params))
    if why_no_chain(true):
        return np.full(len(reached), np.nan), float("nan")
    level = float(np.clip(reached.mean(), 0, demand.max_level))
    front = frontier(true, demand.name, [level])
    # a demand on every group is compared at every group's own rate
    at = [np.clip(r[:, 0], 0, demand.max_level) for r in rates] if demand.per_group else list(reached)
    return np.array([front.best_at(x) for x in at]), float(front.stationary_value[0])


def _pair(value: tuple[float, float], digits: int) -> str:
    mean, half = value
    return f"{mean:.{digits}f}" + ("" if np.isnan(half) else f" ± {half:.{digits}f}")
