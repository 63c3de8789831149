"""One person's episode on lending as linear moments, and the policy that maximises a weighted sum of them.

A person of a type (group, and hidden conscientiousness where there is one) is visited with probability
1 / population per step. What an episode brings is linear in how often each (time, score, decision) occurs, so
the frontier needs only a few moments per person, in the columns of `goals.Moments`: reward, applications, approvals,
visits of somebody who would repay, such visits that were accepted, and the distribution of scores at the end.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from bisimulator.core import PersonChain, Values
from bisimulator.exact._moves import (
    ScoreMoves,
    gain_of_loan,
    gain_of_rejection,
    move_by_loan,
    move_by_rejection,
    score_moves,
)
from bisimulator.exact._numba import compiled
from bisimulator.exact.chain import without_rare_types
from bisimulator.exact.transport import I64
from bisimulator.goals.moments import M

Flags: TypeAlias = NDArray[np.bool_]

# The columns of a person's moments that are counted, before the final scores.
_COUNTED = (M.REWARD, M.APPLIED, M.APPROVED, M.QUALIFIED, M.APPROVED_QUALIFIED)


def as_moments(counted: Float[Values, "m ..."], people: float = 1.0) -> Float[Values, "M ..."]:
    """What is counted of a person (`_COUNTED`, then final scores) in the columns of `goals.Moments`.

    A derivative of it has `people=0`: a person is a person under every policy.
    """
    count = len(_COUNTED)
    moments = np.zeros((M.FINAL + len(counted) - count, *counted.shape[1:]))
    moments[list(_COUNTED)], moments[M.FINAL :] = counted[:count], counted[count:]
    moments[[M.PEOPLE, M.ENDED]] = people
    return moments


@dataclasses.dataclass(frozen=True)
class PersonType:
    """A type of person: how likely each score is to repay, and how the score moves."""

    share: float  # of the group's people
    initial: Float[Values, "C"]
    repayment: Float[Values, "C"]  # probability of repayment
    accept_reward: Float[Values, "C"]  # expected reward of accepting
    moves: ScoreMoves  # how decisions move the score
    visit_rate: float
    horizon: int

    def plan(self, weights: Float[Values, "M"]) -> tuple[Bool[Flags, "T C"], float]:
        """Where to accept, by time and score, to maximise `weights @ moments`; and the maximum."""
        accept, reject, final = self.gains(weights)
        plan, value = _backward(accept, reject, final, *self.moves, self.visit_rate, self.horizon)
        return plan, float(self.initial @ value)

    def gains(
        self, weights: Float[Values, "*k M"]
    ) -> tuple[Float[Values, "*k C"], Float[Values, "*k C"], Float[Values, "*k C"]]:
        """What accepting, rejecting and the score at the end add to `weights @ moments`, by score."""
        w = weights[..., None]
        reject = w[..., M.APPLIED, :] + w[..., M.QUALIFIED, :] * self.repayment
        accept = reject + w[..., M.REWARD, :] * self.accept_reward + w[..., M.APPROVED, :]
        accept = accept + w[..., M.APPROVED_QUALIFIED, :] * self.repayment
        final = weights[..., M.FINAL :] + (w[..., M.PEOPLE, :] + w[..., M.ENDED, :])
        return accept, reject, final

    def moments(self, plan: Bool[Flags, "T C"]) -> Float[Values, "M"]:
        """The moments of a deterministic policy."""
        return as_moments(_forward(plan, self.initial, self.accept_reward, *self.moves, self.visit_rate))

    def visits(self, plan: Bool[Flags, "T C"]) -> Float[Values, "T C"]:
        """Probability of being visited at each time and score."""
        return _visit_shares(plan, self.initial, *self.moves, self.visit_rate)


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
    moves = score_moves(chain)

    def person(g: int, h: int) -> PersonType:
        repayment = np.ascontiguousarray(chain.repayment[h, g])
        return PersonType(
            share=float(chain.type_probs[h]),
            initial=chain.initial[g],
            repayment=repayment,
            accept_reward=repayment * chain.reward_repaid + (1 - repayment) * chain.reward_default,
            moves=moves[h][g],
            visit_rate=chain.visit_rate,
            horizon=chain.horizon,
        )

    types = range(len(chain.type_probs))
    return [
        Group(tuple(person(g, h) for h in types), float(size)) for g, size in enumerate(chain.group_sizes)
    ]


@compiled
def _backward(
    accept: Values,
    reject: Values,
    final: Values,
    repayment: Values,
    up: I64,
    down: I64,
    loans: Values | None,
    rejections: Values | None,
    rate: float,
    horizon: int,
) -> tuple[Flags, Values]:
    """Dynamic programming from the end: accept where it is at least as good as rejecting."""
    scores = len(repayment)
    plan = np.empty((horizon, scores), np.bool_)
    value, earlier = final.copy(), np.empty(scores)
    for t in range(horizon - 1, -1, -1):
        for c in range(scores):
            gain_accept = accept[c] + gain_of_loan(value, c, repayment, up, down, loans)
            gain_reject = reject[c] + gain_of_rejection(value, c, rejections)
            plan[t, c] = gain_accept >= gain_reject
            earlier[c] = value[c] + rate * (gain_accept if plan[t, c] else gain_reject)
        value, earlier = earlier, value
    return plan, value


@compiled
def _forward(
    plan: Flags,
    initial: Values,
    accept_reward: Values,
    repayment: Values,
    up: I64,
    down: I64,
    loans: Values | None,
    rejections: Values | None,
    rate: float,
) -> Values:
    """What is counted under a plan: `_COUNTED`, then final scores."""
    horizon, scores = plan.shape
    share, later = initial.copy(), np.empty(scores)
    reward, applied, approved, qualified, both = 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(horizon):
        later[:] = share
        for c in range(scores):
            visit = rate * share[c]
            applied += visit
            qualified += visit * repayment[c]
            if plan[t, c]:
                reward += visit * accept_reward[c]
                approved += visit
                both += visit * repayment[c]
                move_by_loan(later, visit, c, repayment, up, down, loans)
            else:
                move_by_rejection(later, visit, c, rejections)
        share, later = later, share
    counted = np.empty(5 + scores)
    counted[0], counted[1], counted[2], counted[3], counted[4] = reward, applied, approved, qualified, both
    counted[5:] = share
    return counted


@compiled
def _visit_shares(
    plan: Flags,
    initial: Values,
    repayment: Values,
    up: I64,
    down: I64,
    loans: Values | None,
    rejections: Values | None,
    rate: float,
) -> Values:
    horizon, scores = plan.shape
    visits = np.empty((horizon, scores))
    share = initial.copy()
    for t in range(horizon):
        visits[t] = rate * share
        for c in range(scores):
            if plan[t, c]:
                move_by_loan(share, visits[t, c], c, repayment, up, down, loans)
            else:
                move_by_rejection(share, visits[t, c], c, rejections)
    return visits
