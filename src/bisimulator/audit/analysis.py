"""All that an audit finds: simulated, certified, and next to simple policies and the best that is possible."""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from bisimulator import policies
from bisimulator.audit.audited_policy import Audited
from bisimulator.audit.trajectories import Course, follow, score_values
from bisimulator.core import Env, PersonChain
from bisimulator.evaluation import Evaluation
from bisimulator.evaluation.certify import Estimate, acceptance, certify
from bisimulator.exact.certificate import Certificate
from bisimulator.exact.chain import expect, person_chain
from bisimulator.exact.frontier import Frontier, frontier
from bisimulator.policies.rules import rule_policy

Array = NDArray[np.float64]

SIMPLE_POLICIES = ("accept-all", "threshold", "reject-all")
FEW = 20  # people of a group in the simulation
_SEARCH_STEPS = 20


@dataclasses.dataclass(frozen=True)
class Row:
    """A policy in a few numbers, for a table of several."""

    name: str
    earned: float
    rates: tuple[float, ...]  # of acceptance, one a group
    recalls: tuple[float, ...]
    scores: tuple[float, ...]  # on average, at the end

    @property
    def smallest_recall(self) -> float:
        return min((recall for recall in self.recalls if not math.isnan(recall)), default=1.0)

    @property
    def acceptance_ratio(self) -> float:
        """Lowest acceptance rate of a group over the highest."""
        known = [rate for rate in self.rates if not math.isnan(rate)]
        return min(known) / max(known) if max(known, default=0) > 0 else math.nan

    @property
    def score_gap(self) -> float:
        """Largest difference of average scores at the end."""
        return max(self.scores) - min(self.scores)


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

    @cached_property
    def chain(self) -> PersonChain:
        """One person's chain, with true scores."""
        model = self.env.scenario.person_model
        assert model is not None
        return model.chain(self.env.params)

    @property
    def names(self) -> tuple[str, ...]:
        return self.env.group_names

    @cached_property
    def summary(self) -> dict[str, tuple[float, float]]:
        return self.evaluation.summary

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

    @property
    def is_exact(self) -> bool:
        """Whether the policy's own figures are computed; otherwise they are means of the simulation."""
        policy = policies.as_policy(self.audited.policy)
        return not isinstance(self.certificate, Estimate) and policy.depends_on == "score"

    @cached_property
    def row(self) -> Row:
        if self.is_exact:
            return exact_row(self.audited.name, self.env, self.audited.policy)
        rates, recalls, end = (self.groups[c][0] for c in ("approval_rate", "recall", "score_end"))
        return Row(
            self.audited.name, self.summary["average_return"][0], tuple(rates), tuple(recalls), tuple(end)
        )

    @property
    def earned(self) -> float:
        return self.row.earned

    @cached_property
    def table(self) -> Float[Array, "G C"] | None:
        """pi(accept | group, score) of somebody without past loans; None where it is not known for certain."""
        if isinstance(self.certificate, Estimate):
            return None
        accept = acceptance(self.env, policies.as_policy(self.audited.policy), 1)
        return None if accept is None else accept[:, :, 0, 0]

    @property
    def looks_at_group(self) -> bool:
        """Whether equal scores are treated differently."""
        return self.table is not None and bool((abs(self.table - self.table[0]) > 1e-9).any())

    @cached_property
    def regret(self) -> float:
        """What the best policy that accepts as many of every group's repayers earns more."""
        # nobody to accept in a group: nothing to ask for
        asked = np.clip(np.nan_to_num(self.row.recalls), 0, 1)
        return max(self.best.best_at(asked) - self.earned, 0.0)

    @cached_property
    def fairest_at_this_return(self) -> float:
        """The largest share of repayers, in every group, that some policy accepts without earning less."""
        low, high = 0.0, 1.0
        if self.best.best_at(1.0) >= self.earned:
            return 1.0
        if self.best.best_at(0.0) < self.earned:  # by the chance of a simulation
            return 0.0
        for _ in range(_SEARCH_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.best.best_at(middle) >= self.earned else (low, middle)
        return low


def audit(
    audited: Audited, *, people: str, seeds: int = 10, episodes: int = 5, notes: tuple[str, ...] = ()
) -> Audit:
    """Simulate, certify, and compare: with the frontier of the same people with their true scores."""
    env = audited.env
    model = env.scenario.person_model
    plain = env if model is None else env.with_omega(model.true_omega(env.params))
    person_chain(plain)  # an environment without a frontier is refused before anything runs
    return Audit(
        audited,
        people,
        *follow(env, audited.policy, seeds=seeds, episodes=episodes),
        certify(env, audited.policy, seeds=seeds, episodes=episodes),
        frontier(plain, "min-recall"),
        tuple(exact_row(name, plain, rule_policy(name, plain)) for name in SIMPLE_POLICIES),
        (*notes, *audited.notes, *rare_groups(env)),
    )


def rare_groups(env: Env) -> list[str]:
    """A note for each group of which the simulation has hardly anybody."""
    sizes = env.params.population * np.asarray(env.params.group_probs, np.float64)
    return [
        f"Only about {size:.0f} of the {env.params.population} people in the simulation are of group {name}; for "
        "steadier figures raise the number of people and of decisions alike (--set population=... horizon=...)."
        for name, size in zip(env.group_names, sizes, strict=True)
        if size < FEW
    ]


def exact_row(name: str, env: Env, policy: policies.Policy) -> Row:
    """Exact expectations of a policy that decides by score and group."""
    accept = acceptance(env, policy, 1)
    assert accept is not None
    exact = expect(env, accept[:, :, 0, 0])
    rates, scores = exact.approved / exact.applied, exact.final_scores @ score_values(env)
    return Row(name, exact.average_return, tuple(rates), tuple(exact.recall), tuple(scores))
