"""How each group fares under a policy, in numbers: exact ones, or simulated ones with intervals."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from bisimulator.auditing.trajectories import Trajectories, score_values
from bisimulator.core import SCORE_GRID, Env, Values
from bisimulator.evaluation import Evaluation, mean_and_interval
from bisimulator.evaluation._exact_evaluation import acceptance
from bisimulator.exact.chain import Expectation, expect
from bisimulator.policies import Policy

# column -> one mean per group, and the half widths of their 95% intervals (NaN if there is none)
GroupNumbers: TypeAlias = Mapping[str, tuple[Float[Values, "G"], Float[Values, "G"]]]


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


def exact_numbers(env: Env, expectation: Expectation) -> GroupNumbers:
    """Expectations of an episode."""
    model, values = env.scenario.person_model, score_values(env)
    assert model is not None
    with np.errstate(invalid="ignore"):
        means = {
            "share": expectation.people / expectation.people.sum(),
            "score_start": model.chain(env.params).initial @ values,
            "score_end": expectation.final_scores @ values,
            "approval_rate": expectation.approved / expectation.applied,
            "recall": expectation.recall,
            "precision": expectation.approved_qualified / expectation.approved,
            "loans": expectation.approved / expectation.people,
        }
    return {column: (mean, np.full(env.num_groups, np.nan)) for column, mean in means.items()}


def simulated_numbers(env: Env, evaluation: Evaluation, trajectories: Trajectories) -> GroupNumbers:
    """Means over seeds with 95% intervals; shares and scores at the start are the data's and have none."""
    outcome, people = evaluation.outcome, trajectories.people
    fine = np.arange(outcome.observed_scores.shape[-1]) / SCORE_GRID
    values = np.interp(fine, np.arange(env.params.num_scores), score_values(env))
    size = np.asarray(outcome.people, np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        per_person = {
            "score_end": np.asarray(outcome.observed_scores, np.float64) @ values / size,
            "loans": np.asarray(outcome.count("approved"), np.float64) / size,
        }
    columns = {name: [each[..., g] for g in range(env.num_groups)] for name, each in per_person.items()}
    columns |= {
        name: [evaluation.episodes[f"{name}_g{g + 1}"] for g in range(env.num_groups)]
        for name in ("approval_rate", "recall", "precision")
    }
    unknown = np.full(env.num_groups, np.nan)
    pairs = {name: np.array([mean_and_interval(e) for e in each]).T for name, each in columns.items()}
    return {
        "share": (people / people.sum(), unknown),
        "score_start": (trajectories.score[0], unknown),
        **{name: (mean, half) for name, (mean, half) in pairs.items()},
    }


def row_of(name: str, earned: float, groups: GroupNumbers) -> PolicyRow:
    columns = (tuple(map(float, groups[c][0])) for c in ("approval_rate", "recall", "score_end"))
    return PolicyRow(name, earned, *columns)


def exact_row(name: str, env: Env, policy: Policy) -> PolicyRow:
    """Exact expectations of a policy that decides by score and group."""
    table = score_table(env, policy)
    assert table is not None
    expectation = expect(env, table)
    return row_of(name, expectation.average_return, exact_numbers(env, expectation))


def score_table(env: Env, policy: Policy) -> Float[Values, "G C"] | None:
    """`pi(accept | group, score)` of people without past loans; None if it is not known."""
    accept = acceptance(env, policy, 1)
    return None if accept is None else accept[:, :, 0, 0]
