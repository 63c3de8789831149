"""One person's episode on lending as linear moments, and the policy that maximises a weighted sum of them.

A person of a type (group, and hidden conscientiousness where there is one) is visited with probability
1 / population per step. What an episode brings is linear in how often each (time, score, decision) occurs, so
the frontier needs only a few moments per person: the bank's reward, visits of somebody who would repay,
such visits that were accepted, and the distribution of scores at the end.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from scipy.stats import binom

from bisimulator.core import PersonChain, Values
from bisimulator.exact._numba import compiled
from bisimulator.exact.chain import without_rare_types
from bisimulator.exact.transport import I64

Flags: TypeAlias = NDArray[np.bool_]

# Indices of the moments. From FINAL on: shares of the scores at the end.
RETURN, REPAYERS, ACCEPTED_REPAYERS, FINAL = range(4)


@dataclasses.dataclass(frozen=True)
class PersonType:
    """A type of person: how likely each score is to repay, and how the score moves."""

    share: float  # of the group's people
    initial: Float[Values, "C"]
    repayment: Float[Values, "C"]  # probability of repayment
    accept_reward: Float[Values, "C"]  # expected reward of accepting
    up: I64  # where a repaid loan takes each score
    down: I64  # where a default takes it
    visit_rate: float
    horizon: int

    def plan(self, weights: Float[Values, "M"]) -> tuple[Bool[Flags, "T C"], float]:
        """Where to accept, by time and score, to maximise `weights @ moments`; and the maximum."""
        reject = weights[REPAYERS] * self.repayment
        accept = reject + weights[RETURN] * self.accept_reward + weights[ACCEPTED_REPAYERS] * self.repayment
        final = np.ascontiguousarray(weights[FINAL:])
        plan, value = _backward(
            accept, reject, final, self.repayment, self.up, self.down, self.visit_rate, self.horizon
        )
        return plan, float(self.initial @ value)

    def moments(self, plan: Bool[Flags, "T C"]) -> Float[Values, "M"]:
        """The moments of a deterministic policy."""
        return _forward(
            plan, self.initial, self.repayment, self.accept_reward, self.up, self.down, self.visit_rate
        )

    def visits(self, plan: Bool[Flags, "T C"]) -> Float[Values, "T C"]:
        """Probability of being visited at each time and score."""
        return _visit_shares(plan, self.initial, self.repayment, self.up, self.down, self.visit_rate)


@dataclasses.dataclass(frozen=True)
class Group:
    """A group: its types of people (one, unless conscientiousness is hidden) and its expected size."""

    types: tuple[PersonType, ...]
    size: float

    def plans(self, weights: Float[Values, "M"] | bool) -> list[Bool[Flags, "T C"]]:
        """The plan of each type that maximises `weights @ moments`; True accepts always, False never."""
        if isinstance(weights, bool):
            return [np.full((p.horizon, len(p.initial)), weights) for p in self.types]
        return [p.plan(weights)[0] for p in self.types]

    def max_value(self, weights: Float[Values, "M"]) -> float:
        """The largest `weights @ moments` of all policies."""
        return sum(p.share * p.plan(weights)[1] for p in self.types)

    def moments(self, plans: list[Bool[Flags, "T C"]]) -> Float[Values, "M"]:
        """Per person of the group, averaged over types."""
        total: Values = np.sum(
            [p.share * p.moments(plan) for p, plan in zip(self.types, plans, strict=True)], axis=0
        )
        return total


def groups_of(chain: PersonChain) -> list[Group]:
    """The groups of a chain. Policies of a `PersonType` know the hidden type."""
    chain = without_rare_types(chain)
    up, down = chain.next_scores

    def person(g: int, h: int) -> PersonType:
        repayment = np.ascontiguousarray(chain.repayment[h, g])
        return PersonType(
            share=float(chain.type_probs[h]),
            initial=chain.initial[g],
            repayment=repayment,
            accept_reward=repayment * chain.reward_repaid + (1 - repayment) * chain.reward_default,
            up=up,
            down=down,
            visit_rate=chain.visit_rate,
            horizon=chain.horizon,
        )

    types = range(len(chain.type_probs))
    return [
        Group(tuple(person(g, h) for h in types), float(size)) for g, size in enumerate(chain.group_sizes)
    ]


def visit_distribution(horizon: int, rate: float) -> tuple[Float[Values, "K"], Float[Values, "K"]]:
    """P(visits > k) and P(visits = k) of one person over an episode, for all k that are not negligible (e-30)."""
    mean = horizon * rate
    k = np.arange(min(horizon, int(mean + 12 * np.sqrt(mean) + 40)) + 1)
    return binom.sf(k, horizon, rate), binom.pmf(k, horizon, rate)


@compiled
def _backward(
    accept: Values,
    reject: Values,
    final: Values,
    repayment: Values,
    up: I64,
    down: I64,
    rate: float,
    horizon: int,
) -> tuple[Flags, Values]:
    """Dynamic programming from the end: accept where it is at least as good as rejecting."""
    scores = len(repayment)
    plan = np.empty((horizon, scores), np.bool_)
    value, earlier = final.copy(), np.empty(scores)
    for t in range(horizon - 1, -1, -1):
        for c in range(scores):
            move = repayment[c] * value[up[c]] + (1 - repayment[c]) * value[down[c]] - value[c]
            gain_accept = accept[c] + move
            plan[t, c] = gain_accept >= reject[c]
            earlier[c] = value[c] + rate * (gain_accept if plan[t, c] else reject[c])
        value, earlier = earlier, value
    return plan, value


@compiled
def _forward(
    plan: Flags, initial: Values, repayment: Values, accept_reward: Values, up: I64, down: I64, rate: float
) -> Values:
    """The moments of a plan."""
    horizon, scores = plan.shape
    share, later = initial.copy(), np.empty(scores)
    total, repayers, accepted = 0.0, 0.0, 0.0
    for t in range(horizon):
        later[:] = share
        for c in range(scores):
            visit = rate * share[c]
            repayers += visit * repayment[c]
            if plan[t, c]:
                total += visit * accept_reward[c]
                accepted += visit * repayment[c]
                later[c] -= visit
                later[up[c]] += visit * repayment[c]
                later[down[c]] += visit * (1 - repayment[c])
        share, later = later, share
    moments = np.empty(3 + scores)
    moments[0], moments[1], moments[2] = total, repayers, accepted
    moments[3:] = share
    return moments


@compiled
def _visit_shares(plan: Flags, initial: Values, repayment: Values, up: I64, down: I64, rate: float) -> Values:
    horizon, scores = plan.shape
    visits = np.empty((horizon, scores))
    share = initial.copy()
    for t in range(horizon):
        visits[t] = rate * share
        for c in range(scores):
            if plan[t, c]:
                share[c] -= visits[t, c]
                share[up[c]] += visits[t, c] * repayment[c]
                share[down[c]] += visits[t, c] * (1 - repayment[c])
    return visits
