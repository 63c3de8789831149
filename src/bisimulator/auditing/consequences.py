"""What a policy leads to: exact expectations where they exist, otherwise means of simulated episodes."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float

from bisimulator.auditing.audited_policy import AuditedPolicy
from bisimulator.auditing.group_numbers import GroupNumbers, exact_numbers, simulated_numbers
from bisimulator.auditing.trajectories import (
    Trajectories,
    exact_trajectories,
    simulate_trajectories,
    trajectories_of,
    window_ends,
)
from bisimulator.core import Values
from bisimulator.evaluation import Evaluation
from bisimulator.evaluation._exact_evaluation import acceptance_table
from bisimulator.evaluation.goal_outcome import outcome_moments
from bisimulator.exact.chain import Expectation, expect
from bisimulator.exact.kinds import Kinds, expect_kinds
from bisimulator.goals import Demand
from bisimulator.goals.moments import M


@dataclasses.dataclass(frozen=True, eq=False)
class Consequences:
    """What a policy leads to: exact expectations where they exist, otherwise means of simulated episodes."""

    earned: float
    groups: GroupNumbers
    trajectories: Trajectories
    moments: Float[Values, "S G M"]  # sums per group, on which goals are measured; one per seed if simulated
    # the policy's table, or its decisions on kinds of people; None if simulated
    accept: Float[Values, "G C"] | Float[Values, "G C K K"] | Kinds | None = None
    evaluation: Evaluation | None = None  # None if the numbers are exact

    @property
    def earned_half_width(self) -> float:
        """Half the width of the 95% interval of `earned`; NaN if it is exact or there is no interval."""
        return np.nan if self.evaluation is None else self.evaluation.summary["average_return"][1]

    def __repr__(self) -> str:
        return f"Consequences(earned {self.earned:,.0f}, {'simulated' if self.evaluation else 'exact'})"


def consequences_of(audited: AuditedPolicy, *, seeds: int, episodes: int) -> Consequences:
    """Exact expectations; simulated means where the policy has none."""
    env = audited.env
    if audited.kinds is not None:
        cumulative = expect_kinds(env, audited.kinds, window_ends(env))
        expectation, trajectories = cumulative[-1], trajectories_of(env, cumulative)
        moments = _by_whole_bins(expectation.moments[None], audited)
        return Consequences(
            expectation.average_return, exact_numbers(env, expectation), trajectories, moments, audited.kinds
        )
    accept, _ = acceptance_table(env, audited.policy)
    if accept is not None:
        expectation = expect(env, accept)
        numbers = exact_numbers(env, expectation)
        moments = _by_whole_bins(expectation.moments[None], audited)
        trajectories = exact_trajectories(env, accept)
        return Consequences(expectation.average_return, numbers, trajectories, moments, accept)
    evaluation, trajectories = simulate_trajectories(env, audited.policy, seeds=seeds, episodes=episodes)
    numbers = simulated_numbers(env, evaluation, trajectories)
    earned, _ = evaluation.summary["average_return"]
    moments = _by_whole_bins(outcome_moments(evaluation.outcome), audited)
    return Consequences(earned, numbers, trajectories, moments, evaluation=evaluation)


def end_of_episode(
    audited: AuditedPolicy, *, seeds: int, episodes: int
) -> tuple[GroupNumbers, Float[Values, "G M"]]:
    """The numbers of each group and the moments of an episode, without its course over time."""
    expectation = _exact(audited)
    if expectation is not None:
        return exact_numbers(audited.env, expectation), _by_whole_bins(expectation.moments[None], audited)[0]
    simulated = consequences_of(audited, seeds=seeds, episodes=episodes)
    return simulated.groups, simulated.moments.mean(0) / episodes  # they are sums over a seed's episodes


def _exact(audited: AuditedPolicy) -> Expectation | None:
    if audited.kinds is not None:
        return expect_kinds(audited.env, audited.kinds)[0]
    accept, _ = acceptance_table(audited.env, audited.policy)
    return None if accept is None else expect(audited.env, accept)


def level_reached(demand: Demand, moments: Float[Values, "G M"]) -> float:
    """The level of a demand that an episode meets."""
    known = moments[:, demand.denominator] > 0
    return float(demand.reached(demand.rates(moments, np), known, np))


def _by_whole_bins(moments: Float[Values, "S G M"], audited: AuditedPolicy) -> Float[Values, "S G m"]:
    """The same moments with final scores in the bins of the data."""
    final = moments[..., M.FINAL :]
    whole = final.reshape(*final.shape[:2], audited.people_env.params.num_scores, -1).sum(-1)
    return np.concatenate([moments[..., : M.FINAL], whole], axis=-1)
