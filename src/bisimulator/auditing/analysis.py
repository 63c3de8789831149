"""An audit: what a policy leads to, exactly or simulated, compared with simple policies and the provable optimum."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from jaxtyping import Float

from bisimulator._html import html_table
from bisimulator.auditing.alternatives import Alternative, alternative_for, fairest_alternative
from bisimulator.auditing.audited_policy import AuditedPolicy, check_auditable, with_true_scores
from bisimulator.auditing.consequences import Consequences, consequences_of, level_reached
from bisimulator.auditing.group_numbers import GroupNumbers, PolicyRow, exact_row, row_of, score_table
from bisimulator.auditing.past_decisions import PastDecisions, RejectedRange, range_over_gamma
from bisimulator.auditing.sensitivity import RateRange, Sweep, sweep_assumptions
from bisimulator.auditing.trajectories import Trajectories
from bisimulator.core import Env, PersonChain, Values
from bisimulator.evaluation._exact_evaluation import acceptance_table
from bisimulator.evaluation.certify import Estimate, certify, estimate_of
from bisimulator.evaluation.intervals import mean_and_half_width
from bisimulator.exact._stationary import satisfies
from bisimulator.exact.certificate import Certificate
from bisimulator.exact.frontier import Frontier, frontier
from bisimulator.exact.kinds import Kinds, certificate_of_kinds, expect_kinds
from bisimulator.goals import Demand, Goal
from bisimulator.policies.rules import rule_policy
from bisimulator.report.sentences import trivial_rule

SIMPLE_POLICIES = ("accept-all", "threshold", "reject-all")
FEW = 20  # people of a group in a simulation, below which the audit notes it
_SEARCH_STEPS = 20


@dataclasses.dataclass(frozen=True, eq=False)
class GoalAudit:
    """Whether the policy meets a demand of the user's, and the best policy found that does."""

    demand: Demand
    reached: tuple[float, float]  # the level that the policy meets, and the half width of its 95% interval
    met: bool  # in expectation, or on average over seeds
    alternative: Alternative | None  # None if no policy meets it

    def __repr__(self) -> str:
        return (
            f"GoalAudit({self.demand.text}: reached {self.reached[0]:.3g}, {'met' if self.met else 'missed'})"
        )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AuditResult:
    """Everything that the page of an audit shows."""

    audited: AuditedPolicy
    people: str  # where they come from
    consequences: Consequences
    certificate: Certificate | Estimate
    best: Frontier
    simple: tuple[PolicyRow, ...]  # exact expectations of simple policies
    notes: tuple[str, ...]
    fairer: Alternative | None  # the fairest policy found that earns no less
    goals: tuple[GoalAudit, ...] = ()
    rejected: RejectedRange | None = None  # None if nobody was rejected in the past, as far as is known
    rate_ranges: tuple[RateRange, ...] = ()  # repayment rates that the data allow

    @property
    def env(self) -> Env:
        return self.audited.env

    @cached_property
    def chain(self) -> PersonChain:
        """One person's chain, with true scores; bins are those of the data."""
        model, env = self.env.scenario.person_model, self.audited.people_env
        assert model is not None
        return model.chain(env.params)

    @property
    def names(self) -> tuple[str, ...]:
        return self.env.group_names

    @property
    def groups(self) -> GroupNumbers:
        return self.consequences.groups

    @property
    def trajectories(self) -> Trajectories:
        return self.consequences.trajectories

    @property
    def is_exact(self) -> bool:
        """Whether the policy's numbers are exact; otherwise they are means of a simulation."""
        return self.consequences.evaluation is None

    @cached_property
    def row(self) -> PolicyRow:
        return row_of(self.audited.name, self.consequences.earned, self.groups)

    @property
    def earned(self) -> float:
        return self.row.earned

    @property
    def accept_all(self) -> PolicyRow:
        """Accepting everybody, with which every verdict is compared."""
        return next(row for row in self.simple if row.name == "accept-all")

    @property
    def alternatives(self) -> dict[str, Alternative]:
        """The policies that the audit names, by the names of their decision tables."""
        return named_alternatives(self.fairer, self.goals)

    @property
    def start_scores(self) -> Float[Values, "G"]:
        """Average scores at the start."""
        return self.groups["score_start"][0]

    @cached_property
    def table(self) -> Float[Values, "G C"] | None:
        """`pi(accept | group, score)` of people without past loans; None unless it is exact."""
        if not self.certificate.exact or self.audited.kinds is not None:
            return None
        return score_table(self.env, self.audited.policy)

    @cached_property
    def sweeps(self) -> tuple[Sweep, ...]:
        """The policy over its assumptions, one at a time; empty if it is simulated or looks at past loans."""
        accept = self.consequences.accept
        if accept is None or (not isinstance(accept, Kinds) and accept.ndim != 2):
            return ()
        return sweep_assumptions(self.audited, accept, self.rate_ranges)

    @cached_property
    def equal_rule(self) -> str:
        """The simple rule that decides like the policy: always if it is exact, otherwise in every simulated episode."""
        if self.audited.name in SIMPLE_POLICIES:
            return ""
        if self.consequences.evaluation is not None:
            return trivial_rule(self.consequences.evaluation.outcome)
        if self.audited.kinds is not None:  # people with equal scores are treated differently
            return ""
        accept = np.asarray(self.consequences.accept)
        tables = {name: score_table(self.env, rule_policy(name, self.env)) for name in SIMPLE_POLICIES}
        equal = [n for n, table in tables.items() if table is not None and np.array_equal(accept, table)]
        return equal[0] if equal else ""

    @property
    def looks_at_group(self) -> bool:
        """Whether people with equal scores are treated differently by group."""
        return self.table is not None and bool((abs(self.table - self.table[0]) > 1e-9).any())

    @cached_property
    def regret(self) -> float:
        """How much more the optimum earns among policies that accept as many of every group's repayers.

        Below 0 only by chance, if the policy's numbers are simulated.
        """
        recalls = np.clip(np.nan_to_num(self.row.recalls), 0, 1)  # no demand for a group without repayers
        regret = self.best.best_at(recalls) - self.earned
        return max(regret, 0.0) if self.is_exact else regret

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
        return "\n".join([f"Audit: {self.audited.name}, people: {self.people}", *lines])

    def _repr_html_(self) -> str:
        return html_table(f"Audit: {self.audited.name}, people: {self.people}", [], self._lines)


def audit_policy(
    audited: AuditedPolicy,
    *,
    people: str,
    goal: Goal | None = None,
    group_blind: bool = False,
    seeds: int = 10,
    episodes: int = 5,
    notes: tuple[str, ...] = (),
    past: PastDecisions | None = None,
    rate_ranges: tuple[RateRange, ...] = (),
) -> AuditResult:
    """What a policy leads to, certified, and compared with the frontier of the same people with their true scores.

    Args:
        audited: a policy, as `read_policy` and `from_function` return it.
        people: where the people come from, for the page.
        goal: what the user asks of a policy; the audit says whether it is met, and names the best policy that does.
        group_blind: named policies do not look at the group.
        seeds: independent repetitions of the simulation, if the policy has no exact numbers.
        episodes: episodes per seed.
        notes: what to know about the data, for the page.
        past: decisions that left the repayment of some people unknown; the audit's numbers are then ranges, too.
        rate_ranges: repayment rates that the data allow, over which findings are looked at.

    Raises:
        ValueError: if the environment has no frontier.

    Example:
        >>> env = bisimulator.make("lending-us-2003", groups=2)
        >>> result = audit_policy(read_policy("640", env), people="those of 2003")
        >>> result.regret
    """
    check_auditable(audited.people_env)  # before anything runs
    plain = with_true_scores(audited.people_env)
    consequences = consequences_of(audited, seeds=seeds, episodes=episodes)
    rare = () if consequences.evaluation is None else rare_groups(audited.env)
    split = with_true_scores(audited.env)
    best = frontier(plain, "min-recall", group_blind=group_blind)
    row = row_of(audited.name, consequences.earned, consequences.groups)
    demands = () if goal is None else goal.demands
    fairer = fairest_alternative(best, plain, split, row, group_blind=group_blind)
    goals = tuple(
        _audit_goal(demand, consequences, alternative_for(demand, plain, split, group_blind=group_blind))
        for demand in demands
    )
    rejected = None
    if past is not None:
        named = named_alternatives(fairer, goals)
        rejected = range_over_gamma(audited, past, demands, named, seeds=seeds, episodes=episodes)
    return AuditResult(
        audited,
        people,
        consequences,
        _certify(audited, consequences),
        best,
        tuple(exact_row(name, split, rule_policy(name, split)) for name in SIMPLE_POLICIES),
        (*notes, *audited.notes, *rare),
        fairer,
        goals,
        rejected,
        rate_ranges,
    )


def _certify(audited: AuditedPolicy, consequences: Consequences) -> Certificate | Estimate:
    if audited.kinds is not None:
        return certificate_of_kinds(audited.env, expect_kinds(audited.env, audited.kinds)[0])
    if consequences.evaluation is not None:
        _, reason = acceptance_table(audited.env, audited.policy)
        return estimate_of(audited.env, consequences.evaluation, reason)
    return certify(audited.env, audited.policy)


def named_alternatives(fairer: Alternative | None, goals: Sequence[GoalAudit]) -> dict[str, Alternative]:
    """Alternatives by the names of their decision tables."""
    named = {} if fairer is None else {"fairer_policy": fairer}
    for goal in goals:
        if goal.alternative is not None:
            named[f"policy_for_{goal.demand.name}"] = goal.alternative
    return named


def _audit_goal(demand: Demand, consequences: Consequences, alternative: Alternative | None) -> GoalAudit:
    reached = [level_reached(demand, moments) for moments in consequences.moments]
    return GoalAudit(
        demand,
        mean_and_half_width(reached),
        satisfies(demand, consequences.moments.mean(0)),
        alternative,
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
