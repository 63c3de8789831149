"""All that an audit finds: simulated, certified, and next to the best that is possible."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np

from bisimulator.certifying import Estimate, certify
from bisimulator.core import Env
from bisimulator.evaluation import Evaluation, evaluate
from bisimulator.exact.certificate import Certificate
from bisimulator.exact.frontier import Frontier, frontier, frontier_params
from bisimulator.report.audit.audited import Audited
from bisimulator.report.audit.course import Course, follow
from bisimulator.report.truth import MethodPoint

GROUP_COLUMNS = {
    "share": "share of people",
    "score_start": "average score at the start",
    "score_end": "at the end",
    "approval_rate": "accepted, of all applications",
    "recall": "accepted, of those who would repay",
    "precision": "repaid, of the accepted",
    "loans": "loans per person",
}


@dataclasses.dataclass(frozen=True, eq=False)
class Audit:
    """All that the page tells."""

    audited: Audited
    people: str  # whose population
    evaluation: Evaluation
    course: Course
    certificate: Certificate | Estimate
    best: Frontier
    notes: tuple[str, ...]

    @property
    def env(self) -> Env:
        return self.audited.env

    @property
    def names(self) -> tuple[str, ...]:
        named = bool(getattr(self.env.params, "group_names", ()))
        return self.env.group_names if named else tuple(f"group {name}" for name in self.env.group_names)

    @cached_property
    def summary(self) -> dict[str, tuple[float, float]]:
        return self.evaluation.summary

    @cached_property
    def point(self) -> MethodPoint:
        return MethodPoint.from_summary(self.audited.name, self.summary)

    def of_group(self, metric: str) -> np.ndarray:
        """(G,), means over seeds."""
        return np.array([self.summary[f"{metric}_g{g + 1}"][0] for g in range(self.env.num_groups)])

    @cached_property
    def groups(self) -> dict[str, np.ndarray]:
        """column -> (G,)"""
        people = self.course.people / self.course.people.sum()
        episodes = len(self.evaluation.seeds) * self.evaluation.episodes["average_return"].shape[1]
        return {
            "share": people,
            "score_start": self.course.score[0],
            "score_end": self.course.score[-1],
            "approval_rate": self.of_group("approval_rate"),
            "recall": self.of_group("recall"),
            "precision": self.of_group("precision"),
            "loans": self.of_group("approvals") * episodes / np.maximum(self.course.people, 1),
        }

    @cached_property
    def regret(self) -> float:
        """What the best policy that serves every group's repayers as well earns more."""
        return max(self.point.regret(self.best), 0.0)

    @cached_property
    def fairest_at_this_return(self) -> float:
        """The largest level of the smallest recall that some policy reaches without earning less."""
        low, high = 0.0, 1.0
        earned = self.point.average_return
        if self.best.best_at(1.0) >= earned:
            return 1.0
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if self.best.best_at(middle) >= earned else (low, middle)
        return low


def audit(
    audited: Audited, *, people: str, seeds: int = 10, episodes: int = 5, notes: tuple[str, ...] = ()
) -> Audit:
    """Simulate, certify, and compare with the frontier of the same people with their true scores."""
    env = audited.env
    frontier_params(env.with_omega(true_moves(env))) if hasattr(env.params, "repayment") else frontier_params(
        env
    )
    evaluation = evaluate(env, audited.policy, seeds=seeds, episodes=episodes)
    course = follow(env, audited.policy, seeds=seeds, episodes=episodes)
    certificate = certify(env, audited.policy, seeds=seeds, episodes=episodes)
    best = frontier(env.with_omega(true_moves(env)), "min-recall")
    return Audit(audited, people, evaluation, course, certificate, best, (*notes, *audited.notes))


def true_moves(env: Env) -> Any:
    """The omega with which observed scores are the true ones."""
    p = env.params
    return np.tile(np.array([p.score_up, p.score_down], np.float32), (env.num_groups, 1))
