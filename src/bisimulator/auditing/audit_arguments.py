"""What `bisimulator.audit` takes: every kind of policy, and every kind of people."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

from numpy.typing import ArrayLike

from bisimulator.auditing.audited_policy import AuditedPolicy
from bisimulator.auditing.models import Classifier, ModelOptions, from_model
from bisimulator.auditing.past_decisions import DEFAULT_GAMMA, PastDecisions
from bisimulator.auditing.read_policy import Trained, from_trained, read_policy
from bisimulator.auditing.score_functions import from_function
from bisimulator.auditing.sensitivity import RateRange, rate_ranges
from bisimulator.auditing.split_bins import CountPeople
from bisimulator.auditing.thresholds import from_thresholds
from bisimulator.core import Env, make
from bisimulator.errors import check_real
from bisimulator.people._bins import ScoredRows
from bisimulator.people.population import Population
from bisimulator.policies import Policy, as_policy

AnyPolicy: TypeAlias = (
    str
    | Path
    | float
    | Mapping[str, float]
    | Policy
    | Trained
    | Classifier
    | Callable[..., ArrayLike]
    | ArrayLike
)


class AuditedPeople(NamedTuple):
    """The people of an audit."""

    env: Env | None  # None: those of the training
    source: str  # where they come from
    count_people: CountPeople | None = None  # how they are counted in other bins
    notes: tuple[str, ...] = ()
    past: PastDecisions | None = None  # what past decisions leave unknown
    records: ScoredRows | None = None  # the rows of the data
    rate_ranges: tuple[RateRange, ...] = ()  # repayment rates that the data allow


def people_of(
    people: Population | Env | str | None, settings: Mapping[str, object], gamma: float | None = None
) -> AuditedPeople:
    """The people that the user passed."""
    if gamma is not None:
        check_real("gamma", gamma, min=1)
    if isinstance(people, Population) and (people.has_rejected or gamma is not None):
        return _with_past(people, settings, DEFAULT_GAMMA if gamma is None else gamma)
    if gamma is not None:
        raise ValueError(
            f"gamma={gamma:g} is about people who were rejected in the past; pass a Population that was read with "
            "accepted=, the column of past decisions"
        )
    if isinstance(people, Population):
        return _of_population(people, settings)
    if isinstance(people, str):
        return AuditedPeople(make(people, **settings), f"those of {people}")
    if settings:
        raise ValueError(
            f"settings ({', '.join(settings)}) need people: pass a Population or a scenario's name; an environment and "
            "a finished job have their own"
        )
    if people is None:
        return AuditedPeople(None, "those of the training")
    if not isinstance(people, Env):
        raise TypeError(
            f"people must be a Population, an environment or a scenario's name, got {type(people).__name__}; such as "
            "bisimulator.Population.from_csv('people.csv') or 'lending-us-2003'"
        )
    return AuditedPeople(people, f"those of {people.name}")


def _with_past(people: Population, settings: Mapping[str, object], gamma: float) -> AuditedPeople:
    people.with_gamma(gamma)  # refuses people of whom nobody was rejected
    rejected = float(1 - people.accepted.sum() / people.people.sum())
    past = PastDecisions(rejected, lambda each: people.with_gamma(each).repayment, gamma)
    return _of_population(people, settings)._replace(past=past)


def _of_population(people: Population, settings: Mapping[str, object]) -> AuditedPeople:
    source = f"{people.people.sum():,.0f} of {people.origin}"
    env = people.make(**settings)
    return AuditedPeople(
        env, source, people.count, people.notes, records=people.records, rate_ranges=rate_ranges(people)
    )


def policy_of(
    policy: AnyPolicy,
    env: Env | None,
    options: ModelOptions,
    count_people: CountPeople | None,
    *,
    in_bins: bool,
    seed: int | None,
) -> AuditedPolicy:
    """Whatever the user passed, as a policy of an audit."""
    if isinstance(policy, Trained):
        return from_trained(policy, env, seed)
    if isinstance(policy, str | Path):
        text = str(policy)
        return read_policy(text, env, in_bins=in_bins, seed=seed, count_people=count_people, model=options)
    if env is None:
        raise ValueError(
            f"people are needed to audit {type(policy).__name__}; pass a Population, an environment or a scenario's "
            "name, such as 'lending-us-2003'"
        )
    if isinstance(policy, Mapping):
        text = ",".join(f"{name}={level!r}" for name, level in policy.items())
        return from_thresholds(text, env, in_bins=in_bins, count_people=count_people)
    if isinstance(policy, int | float) and not isinstance(policy, bool):
        return from_thresholds(repr(policy), env, in_bins=in_bins, count_people=count_people)
    if isinstance(policy, Classifier):
        return from_model(type(policy).__name__, policy, env, options, count_people)
    if not isinstance(policy, Policy) and callable(policy):
        name = getattr(policy, "__name__", type(policy).__name__)
        return from_function(name, policy, env, count_people=count_people)
    name = type(policy).__name__
    what = (
        f"Decides as the policy {name}."
        if isinstance(policy, Policy)
        else f"Decides by the {name} of probabilities."
    )
    return AuditedPolicy(name, what, env, as_policy(policy))
