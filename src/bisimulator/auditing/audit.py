"""`bisimulator.audit`: any policy, on any people, as an object with the page, the tables and the verdict as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bisimulator._html import html_table
from bisimulator._lazy import import_pandas
from bisimulator.auditing.alternatives import Alternative
from bisimulator.auditing.analysis import AuditResult, GoalAudit, audit_policy
from bisimulator.auditing.audit_arguments import AnyPolicy, people_of, policy_of
from bisimulator.auditing.audit_output import tables, write_audit
from bisimulator.auditing.audit_page import render_audit
from bisimulator.auditing.audited_policy import check_auditable
from bisimulator.auditing.drivers import Driver, drivers
from bisimulator.auditing.models import ModelOptions
from bisimulator.auditing.past_decisions import RejectedRange
from bisimulator.auditing.summary_words import summary_statements
from bisimulator.auditing.words import Statement
from bisimulator.core import Env
from bisimulator.errors import check_bool, check_path
from bisimulator.goals import Goal
from bisimulator.people.population import Population

if TYPE_CHECKING:
    import pandas


@dataclasses.dataclass(frozen=True)
class Verdict:
    """An audit in a few numbers."""

    policy: str  # what was audited
    exact: bool  # otherwise earned, ratio and recall are means of a simulation
    earned: float
    bound: float  # what no policy exceeds that accepts as many of every group's repayers
    regret: float  # bound - earned
    acceptance_ratio: float  # the lowest acceptance rate of a group over the highest
    smallest_recall: float  # the share of repayers accepted in the worst-off group
    fairest_at_this_return: float  # the largest such share of a policy that earns no less
    looks_at_group: bool  # people with equal scores are treated differently by group
    equals_rule: str  # the simple rule that it equals; empty if none
    accept_all_earns: float
    fairer_policy: Alternative | None  # the fairest policy found that earns no less
    goals: tuple[GoalAudit, ...]  # the user's goals, and the best policies that meet them
    rejected: RejectedRange | None  # the same over what is not known about those rejected in the past
    defaults: tuple[str, ...]  # what drives the numbers and nobody set


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What `bisimulator.audit` returns."""

    result: AuditResult

    @cached_property
    def page(self) -> str:
        """The page, as HTML."""
        return render_audit(self.result)

    @property
    def statements(self) -> list[Statement]:
        """The summary in words: titles and texts."""
        return summary_statements(self.result)

    @property
    def drivers(self) -> list[Driver]:
        """The numbers that the data do not tell, and where they come from."""
        return drivers(self.result.audited.people_env)

    @property
    def tables(self) -> dict[str, list[dict[str, object]]]:
        """The tables by name, one mapping per row: "groups", "over_time", and one for each policy that is named."""
        return {
            name: [dict(zip(head, row, strict=True)) for row in rows]
            for name, (head, rows) in tables(self.result).items()
        }

    def to_frame(self, table: str = "groups") -> pandas.DataFrame:
        """One of the tables as a data frame."""
        return import_pandas().DataFrame(self.tables[table])

    @cached_property
    def verdict(self) -> Verdict:
        """The numbers of the summary."""
        result = self.result
        return Verdict(
            policy=result.audited.description,
            exact=result.is_exact,
            earned=result.earned,
            bound=result.earned + result.regret,
            regret=result.regret,
            acceptance_ratio=result.row.acceptance_ratio,
            smallest_recall=result.row.smallest_recall,
            fairest_at_this_return=result.fairest_at_this_return,
            looks_at_group=result.looks_at_group,
            equals_rule=result.equal_rule,
            accept_all_earns=result.accept_all.earned,
            fairer_policy=result.fairer,
            goals=result.goals,
            rejected=result.rejected,
            defaults=tuple(driver.name for driver in self.drivers if driver.is_default),
        )

    def save(self, folder: str | Path) -> list[Path]:
        """Write the page and the tables to a folder; returns the files written."""
        return write_audit(self.result, self.page, check_path("folder", folder))

    @property
    def _title(self) -> str:
        return f"Audit: {self.result.audited.name}, people: {self.result.people}"

    @property
    def _lines(self) -> list[tuple[str, str]]:
        verdict, kind = self.verdict, "exact" if self.verdict.exact else "simulated"
        return [
            (
                f"earned ({kind})",
                f"{verdict.earned:,.0f} of at most {verdict.bound:,.0f} at the same recalls",
            ),
            (f"repayers accepted, worst group ({kind})", f"{verdict.smallest_recall:.1%}"),
            ("at most possible at this return", f"{verdict.fairest_at_this_return:.1%}"),
            ("defaults nobody set", ", ".join(verdict.defaults) or "none"),
        ]

    def __repr__(self) -> str:
        return "\n".join([self._title, *(f"  {name}: {value}" for name, value in self._lines)])

    def _repr_html_(self) -> str:
        return html_table(
            self._title, [], self._lines, "The page is in .page; .save(folder) writes everything"
        )


def audit(
    policy: AnyPolicy,
    people: Population | Env | str | None = None,
    *,
    goal: str | Goal | Sequence[str] | None = None,
    group_blind: bool = False,
    gamma: float | None = None,
    inputs: Sequence[str] | None = None,
    accepts: object = 1,
    cutoff: float | None = None,
    trusted: Sequence[str] = (),
    in_bins: bool = False,
    seed: int | None = None,
    seeds: int = 10,
    episodes: int = 5,
    progress: bool = True,
    **settings: object,
) -> Audit:
    """Audit how a policy treats the groups of a population over time, compared with the provable optimum.

    Args:
        policy: thresholds (`640`, or `{"white": 640, "others": 620}`), a rule's name, a training's result, a function
            of score and group, a fitted classifier (scikit-learn's `predict` and `predict_proba`), the path of an ONNX
            or skops file or of a finished job, or anything that `bisimulator.evaluate` takes.
        people: a `Population`, a lending environment, or a scenario's name; a training has its own.
        goal: a fairness goal, such as "min-recall=0.9"; the audit says whether the policy meets it, and names the best
            policy by score and group that does.
        group_blind: the policies that the audit names do not see the group; takes a minute more.
        gamma: if past decisions rejected people (`accepted=` of a `Population`): how many times less often these repay
            at most than the accepted with equal scores; 2 by default. All that depends on them is given as a range.
        inputs: what a model is given, in the order of its columns: "score", "group", "group=NAME" for 1 or 0, or
            columns that `features=` of the population names; by default the score, then all of these.
        accepts: the class of the people whom a model accepts; 0 if it predicts defaults.
        cutoff: accept from this probability of that class on; None: if the model predicts it.
        trusted: types that a skops file may contain in addition to those that skops knows; loading them may run code.
        in_bins: thresholds count bins from 0, not points.
        seed: which policy of a training; the first one by default.
        seeds: independent repetitions of the simulation, if the policy has no exact numbers.
        episodes: episodes per seed.
        progress: show progress in a terminal or a notebook while a model is asked about everybody.
        **settings: parameters of lending, such as `reward_default=-4`, for a population or a scenario's name.

    Returns:
        The page, the tables, and the verdict in words and as data.

    Raises:
        ValueError: if the policy or the people are of another kind or have wrong values; pickle files are refused.

    Example:
        >>> audit(640, "lending-us-2003", groups=2).save("audit")
    """
    for name, flag in (("group_blind", group_blind), ("in_bins", in_bins), ("progress", progress)):
        check_bool(name, flag)
    whose = people_of(people, settings, gamma)
    if whose.env is not None:  # before the policy is read, whose errors are about thresholds and models
        check_auditable(whose.env)
    options = ModelOptions(inputs, accepts, cutoff, trusted, whose.records, progress)
    audited = policy_of(policy, whose.env, options, whose.count_people, in_bins=in_bins, seed=seed)
    asked = None if goal is None else Goal.parse(goal)
    result = audit_policy(
        audited,
        people=whose.source,
        goal=asked,
        group_blind=group_blind,
        seeds=seeds,
        episodes=episodes,
        notes=whose.notes,
        past=whose.past,
        rate_ranges=whose.rate_ranges,
    )
    return Audit(result)
