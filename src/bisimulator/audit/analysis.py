"""An audit: a policy simulated, certified, and compared with simple policies and the provable optimum."""

from __future__ import annotations

import dataclasses
import math
from functools import cached_property

import numpy as np
from jaxtyping import Float

from bisimulator._html import html_table
from bisimulator.audit.audited_policy import AuditedPolicy
from bisimulator.audit.trajectories import Trajectories, score_values, simulate_trajectories
from bisimulator.core import Env, PersonChain, Values
from bisimulator.evaluation import Evaluation
from bisimulator.evaluation.certify import Estimate, acceptance, certify
from bisimulator.exact.certificate import Certificate
from bisimulator.exact.chain import expect, person_chain
from bisimulator.exact.frontier import Frontier, frontier
from bisimulator.policies import Policy
from bisimulator.policies.rules import rule_policy
from bisimulator.report.sentences import trivial_rule

SIMPLE_POLICIES = ("accept-all", "threshold", "reject-all")
FEW = 20  # people of a group in the simulation, below which the audit notes it
_SEARCH_STEPS = 20


@dataclasses.dataclass(frozen=True)
class PolicyRow:
    """A policy in a few numbers, for a table of several policies."""

    name: str
    earned: float
    rates: tuple[float, ...]  # acceptance rates, one per group
    recalls: tuple[float, ...]
    scores: tuple[float, ...]  # averages at the end

    @property
    def smallest_recall(self) -> float:
        return min((recall for recall in self.recalls if not math.isnan(recall)), default=1.0)

    @property
    def acceptance_ratio(self) -> float:
        """The lowest acceptance rate of a group over the highest."""
        known = [rate for rate in self.rates if not math.isnan(rate)]
        return min(known) / max(known) if max(known, default=0) > 0 else math.nan

    @property
    def score_gap(self) -> float:
        """The largest difference of average scores at the end."""
        return max(self.scores) - min(self.scores)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AuditResult:
    """Everything that the page of an audit shows."""

    audited: AuditedPolicy
    people: str  # where they come from
    evaluation: Evaluation
    trajectories: Trajectories
    certificate: Certificate | Estimate
    best: Frontier
    simple: tuple[PolicyRow, ...]  # exact expectations of simple policies
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
    def groups(self) -> dict[str, tuple[Float[Values, "G"], Float[Values, "G"]]]:
        """Column -> means of each group and half widths of their 95% intervals (NaN if there is none)."""
        unknown = np.full(self.env.num_groups, np.nan)
        people = self.trajectories.people
        without_interval = {
            "share": people / people.sum(),
            "score_start": self.trajectories.score[0],
            "score_end": self.trajectories.score[-1],
            "loans": self._of_group("approvals")[0] * np.prod(self.episodes) / np.maximum(people, 1),
        }
        rates = {column: self._of_group(column) for column in ("approval_rate", "recall", "precision")}
        return {column: (values, unknown) for column, values in without_interval.items()} | rates

    def _of_group(self, metric: str) -> tuple[Float[Values, "G"], Float[Values, "G"]]:
        pairs = np.array([self.summary[f"{metric}_g{g + 1}"] for g in range(self.env.num_groups)])
        return pairs[:, 0], pairs[:, 1]

    @property
    def is_exact(self) -> bool:
        """Whether the policy's row is exact; otherwise it has means of the simulation."""
        return self.certificate.exact and self.audited.policy.depends_on == "score"

    @cached_property
    def row(self) -> PolicyRow:
        if self.is_exact:
            return exact_row(self.audited.name, self.env, self.audited.policy)
        rates, recalls, end = (self.groups[c][0] for c in ("approval_rate", "recall", "score_end"))
        return PolicyRow(
            self.audited.name, self.summary["average_return"][0], tuple(rates), tuple(recalls), tuple(end)
        )

    @property
    def earned(self) -> float:
        return self.row.earned

    @property
    def start_scores(self) -> Float[Values, "G"]:
        """Average scores at the start: exact if the policy's row is, otherwise those of the simulation."""
        return self.chain.initial @ score_values(self.env) if self.is_exact else self.groups["score_start"][0]

    @cached_property
    def table(self) -> Float[Values, "G C"] | None:
        """`pi(accept | group, score)` of people without past loans; None unless it is exact."""
        if not self.certificate.exact:
            return None
        return _table(self.env, self.audited.policy)

    @cached_property
    def equal_rule(self) -> str:
        """The simple rule that decides like the policy: always if it is exact, otherwise in every simulated episode."""
        if self.audited.name in SIMPLE_POLICIES:
            return ""
        if not self.is_exact or self.table is None:
            return trivial_rule(self.evaluation.outcome)
        for name in SIMPLE_POLICIES:
            table = _table(self.env, rule_policy(name, self.env))
            if table is not None and np.array_equal(self.table, table):
                return name
        return ""

    @property
    def looks_at_group(self) -> bool:
        """Whether people with equal scores are treated differently by group."""
        return self.table is not None and bool((abs(self.table - self.table[0]) > 1e-9).any())

    @cached_property
    def regret(self) -> float:
        """How much more the optimum earns among policies that accept as many of every group's repayers."""
        recalls = np.clip(np.nan_to_num(self.row.recalls), 0, 1)  # no demand for a group without repayers
        return max(self.best.best_at(recalls) - self.earned, 0.0)

    @cached_property
    def fairest_at_this_return(self) -> float:
        """The largest share of every group's repayers that some policy accepts without earning less."""
        low, high = 0.0, 1.0
        if self.best.best_at(1.0) >= self.earned:
            return 1.0
        if self.best.best_at(0.0) < self.earned:  # by chance, in a simulation
            return 0.0
        for _ in range(_SEARCH_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if self.best.best_at(middle) >= self.earned else (low, middle)
        return low

    @property
    def _lines(self) -> list[tuple[str, str]]:
        kind = "exact" if self.is_exact else "simulated"
        return [
            (f"earned ({kind})", f"{self.earned:,.0f}"),
            ("regret at the same recalls", f"{self.regret:,.0f}"),
            (f"repayers accepted, worst group ({kind})", f"{self.row.smallest_recall:.1%}"),
            ("at most possible at this return", f"{self.fairest_at_this_return:.1%}"),
        ]

    def __repr__(self) -> str:
        lines = [f"  {name}: {value}" for name, value in self._lines]
        return "\n".join([f"Audit of {self.audited.name}, people: {self.people}", *lines])

    def _repr_html_(self) -> str:
        return html_table(f"Audit of {self.audited.name}, people: {self.people}", [], self._lines)


def audit(
    audited: AuditedPolicy, *, people: str, seeds: int = 10, episodes: int = 5, notes: tuple[str, ...] = ()
) -> AuditResult:
    """Simulate and certify a policy, and compare it with the frontier of the same people with their true scores.

    Args:
        audited: a policy, as `read_policy` and `from_function` return it.
        people: where the people come from, for the page.
        seeds: independent repetitions of the simulation.
        episodes: episodes per seed.
        notes: what to know about the data, for the page.

    Raises:
        ValueError: if the environment has no frontier.

    Example:
        >>> env = bisimulator.make("lending-us-2003", groups=2)
        >>> result = audit(read_policy("640", env), people="those of 2003")
        >>> result.regret
    """
    env = audited.env
    model = env.scenario.person_model
    plain = env if model is None else env.with_omega(model.true_omega(env.params))
    person_chain(plain)  # an environment without a frontier is refused before anything runs
    return AuditResult(
        audited,
        people,
        *simulate_trajectories(env, audited.policy, seeds=seeds, episodes=episodes),
        certify(env, audited.policy, seeds=seeds, episodes=episodes),
        frontier(plain, "min-recall"),
        tuple(exact_row(name, plain, rule_policy(name, plain)) for name in SIMPLE_POLICIES),
        (*notes, *audited.notes, *rare_groups(env)),
    )


def rare_groups(env: Env) -> list[str]:
    """A note for each group that has hardly anybody in the simulation."""
    sizes = env.params.population * np.asarray(env.params.group_probs, np.float64)
    return [
        f"Only about {size:.0f} of the {env.params.population} people in the simulation are of group {name}; for "
        "steadier figures raise population and horizon by the same factor (--set population=... horizon=...)."
        for name, size in zip(env.group_names, sizes, strict=True)
        if size < FEW
    ]


def _table(env: Env, policy: Policy) -> Float[Values, "G C"] | None:
    """`pi(accept | group, score)` of people without past loans; None if it is not known."""
    accept = acceptance(env, policy, 1)
    return None if accept is None else accept[:, :, 0, 0]


def exact_row(name: str, env: Env, policy: Policy) -> PolicyRow:
    """Exact expectations of a policy that decides by score and group."""
    table = _table(env, policy)
    assert table is not None
    exact = expect(env, table)
    rates, scores = exact.approved / exact.applied, exact.final_scores @ score_values(env)
    return PolicyRow(name, exact.average_return, tuple(rates), tuple(exact.recall), tuple(scores))
