"""All that an audit finds: simulated, certified, and next to simple policies and the best that is possible."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from bisimulator import policies
from bisimulator.certifying import Estimate, acceptance, certify
from bisimulator.core import Env
from bisimulator.evaluation import Evaluation, evaluate
from bisimulator.exact.certificate import Certificate
from bisimulator.exact.chain import expect
from bisimulator.exact.frontier import Frontier, frontier, frontier_params
from bisimulator.report.audit.audited import Audited
from bisimulator.report.audit.course import Course, follow, score_values
from bisimulator.report.simulation import rule_policy

Array = NDArray[np.float64]

SIMPLE_POLICIES = ("accept-all", "threshold", "reject-all")
FEW = 20  # people of a group in the simulation
_SEARCH_STEPS = 20


@dataclasses.dataclass(frozen=True)
class Row:
    """A policy in a few numbers, for a table of several."""

    name: str
    earned: float
    smallest_recall: float
    acceptance_ratio: float  # lowest acceptance rate of a group over the highest
    score_gap: float  # largest difference of average scores at the end

    @classmethod
    def of(cls, name: str, earned: float, rates: Array, recalls: Array, scores: Array) -> Row:
        known, recalls = rates[np.isfinite(rates)], recalls[np.isfinite(recalls)]
        ratio = known.min() / known.max() if known.max(initial=0) > 0 else np.nan
        return cls(name, earned, float(recalls.min(initial=1.0)), float(ratio), float(np.ptp(scores)))


@dataclasses.dataclass(frozen=True, eq=False)
class Audit:
    """What the page tells."""

    audited: Audited
    people: str  # whose they are
    evaluation: Evaluation
    course: Course
    certificate: Certificate | Estimate
    best: Frontier
    simple: tuple[Row, ...]  # exact expectations of simple policies
    notes: tuple[str, ...]

    @property
    def env(self) -> Env:
        return self.audited.env

    @property
    def names(self) -> tuple[str, ...]:
        return self.env.group_names

    @cached_property
    def summary(self) -> dict[str, tuple[float, float]]:
        return self.evaluation.summary

    @property
    def earned(self) -> float:
        return self.summary["average_return"][0]

    @property
    def episodes(self) -> tuple[int, int]:
        """Seeds, and episodes of each."""
        seeds, episodes = self.evaluation.outcome.counts.shape[:2]
        return seeds, episodes

    @cached_property
    def groups(self) -> dict[str, tuple[Float[Array, "G"], Float[Array, "G"]]]:
        """What is told of each group: column -> means and half widths of 95% intervals (NaN where there is none)."""
        unknown = np.full(self.env.num_groups, np.nan)
        people = self.course.people
        alone = {
            "share": people / people.sum(),
            "score_start": self.course.score[0],
            "score_end": self.course.score[-1],
            "loans": self._of_group("approvals")[0] * np.prod(self.episodes) / np.maximum(people, 1),
        }
        rates = {column: self._of_group(column) for column in ("approval_rate", "recall", "precision")}
        return {column: (values, unknown) for column, values in alone.items()} | rates

    def _of_group(self, metric: str) -> tuple[Array, Array]:
        pairs = np.array([self.summary[f"{metric}_g{g + 1}"] for g in range(self.env.num_groups)])
        return pairs[:, 0], pairs[:, 1]

    @cached_property
    def row(self) -> Row:
        rates, recalls, end = (self.groups[c][0] for c in ("approval_rate", "recall", "score_end"))
        return Row.of(self.audited.name, self.earned, rates, recalls, end)

    @cached_property
    def table(self) -> Float[Array, "G C"] | None:
        """pi(accept | group, score) of somebody without past loans; None where it is not known for certain."""
        if isinstance(self.certificate, Estimate):
            return None
        return acceptance(self.env, policies.as_policy(self.audited.policy), 1)[:, :, 0, 0]

    @property
    def looks_at_group(self) -> bool:
        """Whether equal scores are treated differently."""
        return self.table is not None and bool((abs(self.table - self.table[0]) > 1e-9).any())

    @cached_property
    def regret(self) -> float:
        """What the best policy that accepts as many of every group's repayers earns more."""
        recalls = self.groups["recall"][0]  # nobody to accept in a group: nothing to ask for
        return max(self.best.best_at(np.clip(np.nan_to_num(recalls), 0, 1)) - self.earned, 0.0)

    @cached_property
    def fairest_at_this_return(self) -> float:
        """The largest share of repayers, in every group, that some policy accepts without earning less."""
        low, high = 0.0, 1.0
        if self.best.best_at(1.0) >= self.earned:
            return 1.0
        for _ in range(_SEARCH_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.best.best_at(middle) >= self.earned else (low, middle)
        return low


def audit(
    audited: Audited, *, people: str, seeds: int = 10, episodes: int = 5, notes: tuple[str, ...] = ()
) -> Audit:
    """Simulate, certify, and compare: with the frontier of the same people with their true scores."""
    env = audited.env
    plain = env.with_omega(true_moves(env)) if hasattr(env.params, "repayment") else env
    frontier_params(plain)  # what is not lending is refused before anything runs
    evaluation = evaluate(env, audited.policy, seeds=seeds, episodes=episodes)
    few = [
        f"Only about {size:.0f} of the {env.params.population} people in the simulation are of group {name}; for "
        "steadier figures raise the number of people and of decisions alike (--set population=... horizon=...)."
        for name, size in zip(env.group_names, _sizes(env), strict=True)
        if size < FEW
    ]
    return Audit(
        audited,
        people,
        evaluation,
        follow(env, audited.policy, seeds=seeds, episodes=episodes),
        certify(env, audited.policy, seeds=seeds, episodes=episodes),
        frontier(plain, "min-recall"),
        tuple(_simple(name, plain) for name in SIMPLE_POLICIES),
        (*notes, *audited.notes, *few),
    )


def _sizes(env: Env) -> Float[Array, "G"]:
    return env.params.population * np.asarray(env.params.group_probs, np.float64)


def true_moves(env: Env) -> Any:
    """The omega with which observed scores are the true ones."""
    p = env.params
    return np.tile(np.array([p.score_up, p.score_down], np.float32), (env.num_groups, 1))


def _simple(name: str, env: Env) -> Row:
    exact = expect(env, acceptance(env, rule_policy(name, env), 1)[:, :, 0, 0])
    rates, scores = exact.approved / exact.applied, exact.final_scores @ score_values(env)
    return Row.of(name, exact.average_return, rates, exact.recall, scores)
