"""What past decisions leave unknown: an audit's numbers if the rejected repay less often than the accepted.

Who would have repaid of the rejected is not in the data. With a gamma of 1 they repay as often as the accepted of their
group with the same score ("same score, same repayment"); with a gamma of 2, half as often. A bin's rate is that of its
accepted and rejected people together. A range up to gamma lets each group have another value between 1 and gamma:
people do not influence each other, so the extremes of the groups can be combined.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from bisimulator.auditing.alternatives import Alternative
from bisimulator.auditing.audited_policy import AuditedPolicy, with_true_scores
from bisimulator.auditing.consequences import end_of_episode, level_reached
from bisimulator.auditing.group_numbers import GroupNumbers, exact_numbers
from bisimulator.core import Env, Values
from bisimulator.exact.chain import expect
from bisimulator.exact.frontier import best_return
from bisimulator.goals import Demand
from bisimulator.goals.moments import M

DEFAULT_GAMMA = 2.0
_POINTS = 5  # gammas, from 1 on

Range: TypeAlias = tuple[float, float]  # lowest and highest value


class PastDecisions(NamedTuple):
    """Which share of the people past decisions rejected, and how all people may repay."""

    share: float
    rates_at: Callable[[float], Float[Values, "G C"]]  # gamma -> repayment rates, by whole bins
    gamma: float = DEFAULT_GAMMA  # the largest to look at


@dataclasses.dataclass(frozen=True, eq=False)
class NumbersOverGamma:
    """A policy's numbers at several gammas, which are the same in all groups; ranges let them differ by group."""

    groups: Mapping[str, Float[Values, "K G"]]  # the columns of `GroupNumbers`
    group_returns: Float[Values, "K G"]

    @property
    def returns(self) -> Float[Values, "K"]:
        total: Values = self.group_returns.sum(1)
        return total

    def group_range(self, column: str, g: int) -> Range:
        values = self.groups[column][:, g]
        return float(values.min()), float(values.max())

    @property
    def earned(self) -> Range:
        return float(self.group_returns.min(0).sum()), float(self.group_returns.max(0).sum())

    @property
    def smallest_recall(self) -> Range:
        """The share of repayers accepted in the worst-off group."""
        recall = np.nan_to_num(self.groups["recall"], nan=1.0)  # groups without repayers
        return float(recall.min()), float(recall.max(0).min())

    @property
    def acceptance_ratio(self) -> Range:
        """The lowest acceptance rate of a group over the highest; NaN if there is nothing to compare."""
        rates = self.groups["approval_rate"]
        rates = rates[:, ~np.isnan(rates).any(0)]
        low, high = rates.min(0), rates.max(0)
        if len(low) < 2 or not high.min() > 0:
            return math.nan, math.nan
        pairs = low[:, None] / high[None]
        np.fill_diagonal(pairs, np.inf)
        return float(min(pairs.min(), 1.0)), float(min(high.min() / max(low.max(), high.min()), 1.0))

    def __repr__(self) -> str:
        low, high = self.earned
        return f"NumbersOverGamma(earned {low:,.0f} to {high:,.0f})"


@dataclasses.dataclass(frozen=True, eq=False)
class RejectedRange:
    """An audit over gamma: how many times less often the rejected repay than the accepted with equal scores."""

    share: float  # of the people who were rejected in the past
    gammas: Float[Values, "K"]  # from 1 to the largest
    policy: NumbersOverGamma  # the audited one
    alternatives: Mapping[str, NumbersOverGamma]  # the policies that the audit names
    bound: Float[Values, "K"]  # what no policy exceeds that accepts as many of every group's repayers
    accept_all: Float[Values, "K"]  # what accepting everybody earns
    reached: Mapping[str, Float[Values, "K"]]  # the level that is reached of every demand of the goal

    @property
    def gamma(self) -> float:
        return float(self.gammas[-1])

    def __repr__(self) -> str:
        return f"RejectedRange(gamma 1 to {self.gamma:g}: {self.policy!r})"


def range_over_gamma(
    audited: AuditedPolicy,
    past: PastDecisions,
    demands: Sequence[Demand],
    alternatives: Mapping[str, Alternative],
    *,
    seeds: int,
    episodes: int,
) -> RejectedRange:
    """The numbers of the same policies with the repayment rates of several gammas."""
    gammas = np.linspace(1.0, past.gamma, _POINTS)
    changed = [_with_rates(audited, past.rates_at(float(gamma))) for gamma in gammas]
    found = [end_of_episode(each, seeds=seeds, episodes=episodes) for each in changed]
    own = _numbers(found)
    return RejectedRange(
        past.share,
        gammas,
        own,
        {name: _numbers([_of_table(each, a.table) for each in changed]) for name, a in alternatives.items()},
        np.array(
            [_bound(each, recalls) for each, recalls in zip(changed, own.groups["recall"], strict=True)]
        ),
        np.array([_of_table(each, np.ones((1, 1)))[1][:, M.REWARD].sum() for each in changed]),
        {demand.text: np.array([level_reached(demand, sums) for _, sums in found]) for demand in demands},
    )


_Episode: TypeAlias = tuple[GroupNumbers, Float[Values, "G M"]]


def _numbers(found: Sequence[_Episode]) -> NumbersOverGamma:
    columns = found[0][0]
    return NumbersOverGamma(
        {column: np.array([groups[column][0] for groups, _ in found]) for column in columns},
        np.array([sums[:, M.REWARD] for _, sums in found]),
    )


def _of_table(audited: AuditedPolicy, table: Float[Values, "g c"]) -> _Episode:
    """The exact numbers of `pi(accept | group, score)`, by whole bins; one row or column stands for all."""
    env = with_true_scores(audited.people_env)
    accept = np.broadcast_to(table, (env.num_groups, env.params.num_scores))
    expectation = expect(env, accept)
    return exact_numbers(env, expectation), expectation.moments


def _bound(audited: AuditedPolicy, recalls: Float[Values, "G"]) -> float:
    return best_return(with_true_scores(audited.people_env), np.clip(np.nan_to_num(recalls), 0, 1))


def _with_rates(audited: AuditedPolicy, rates: Float[Values, "G C"]) -> AuditedPolicy:
    env, whole = (_set_rates(env, rates) for env in (audited.env, audited.people_env))
    return dataclasses.replace(audited, env=env, whole_bins=whole)


def _set_rates(env: Env, rates: Float[Values, "G C"]) -> Env:
    model = env.scenario.person_model
    if model is None or model.with_repayment is None:
        raise ValueError(f"gamma needs lending, whose repayment rates can be set; got {env.name!r}")
    return dataclasses.replace(env, params=model.with_repayment(env.params, rates))
