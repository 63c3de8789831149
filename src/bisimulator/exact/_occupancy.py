"""One person's life on lending as linear moments, and the policy that makes any weighted sum of them largest.

A person of a type (group, and hidden conscientiousness where there is one) is visited with probability
1 / population a step. What an episode brings is linear in how often each (time, score, decision) occurs, so
all that the frontier needs are a few moments per person: the bank's reward, visits of somebody who would repay,
such visits that were accepted, and the distribution of scores at the end.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from scipy.stats import binom

from bisimulator.core import PersonChain
from bisimulator.exact._numba import compiled
from bisimulator.exact.chain import without_rare_types

Array = NDArray[np.float64]

RETURN, REPAYERS, ACCEPTED_REPAYERS, FINAL = (
    0,
    1,
    2,
    3,
)  # moments; FINAL and up: shares of the scores at the end


@dataclasses.dataclass(frozen=True)
class Person:
    """A type of person: how likely each score is to repay, and how the score moves."""

    share: float  # of the group's people
    initial: Float[Array, "C"]
    chance: Float[Array, "C"]
    gain: Float[Array, "C"]  # expected reward of accepting
    up: NDArray[np.int64]
    down: NDArray[np.int64]
    rate: float
    horizon: int

    def plan(self, weights: Float[Array, "M"]) -> tuple[Bool[NDArray, "T C"], float]:
        """Where to accept, at every time and score, for the largest `weights @ moments` of all policies; and it."""
        reject = weights[REPAYERS] * self.chance
        accept = reject + weights[RETURN] * self.gain + weights[ACCEPTED_REPAYERS] * self.chance
        end = np.ascontiguousarray(weights[FINAL:])
        plan, value = _backward(accept, reject, end, self.chance, self.up, self.down, self.rate, self.horizon)
        return plan, float(self.initial @ value)

    def moments(self, plan: Bool[NDArray, "T C"]) -> Float[Array, "M"]:
        return _forward(plan, self.initial, self.chance, self.gain, self.up, self.down, self.rate)

    def visits(self, plan: Bool[NDArray, "T C"]) -> Float[Array, "T C"]:
        """Probability of being visited at each time and score."""
        return _visit_shares(plan, self.initial, self.chance, self.up, self.down, self.rate)


@dataclasses.dataclass(frozen=True)
class Group:
    """A group: its types of people (one, unless there is a hidden conscientiousness) and its expected size."""

    types: tuple[Person, ...]
    size: float

    def plans(self, wish: Float[Array, "M"] | bool) -> list[Bool[NDArray, "T C"]]:
        """The best plan of each type for the wish; True and False accept and reject always."""
        if isinstance(wish, bool):
            return [np.full((p.horizon, len(p.initial)), wish) for p in self.types]
        return [p.plan(wish)[0] for p in self.types]

    def worth(self, wish: Float[Array, "M"]) -> float:
        """The largest `wish @ moments` of all policies."""
        return sum(p.share * p.plan(wish)[1] for p in self.types)

    def moments(self, plans: list[Bool[NDArray, "T C"]]) -> Float[Array, "M"]:
        """Per person of the group, the types averaged."""
        each = [p.share * p.moments(plan) for p, plan in zip(self.types, plans, strict=True)]
        return np.sum(each, axis=0)


def groups_of(chain: PersonChain) -> list[Group]:
    """The groups of a chain. The types of people know their own hidden type."""
    chain = without_rare_types(chain)
    up, down = chain.next_scores

    def person(g: int, k: int) -> Person:
        chance = np.ascontiguousarray(chain.repayment[k, g])
        return Person(
            share=float(chain.type_probs[k]),
            initial=chain.initial[g],
            chance=chance,
            gain=chance * chain.reward_repaid + (1 - chance) * chain.reward_default,
            up=up,
            down=down,
            rate=chain.visit_rate,
            horizon=chain.horizon,
        )

    types = range(len(chain.type_probs))
    return [
        Group(tuple(person(g, k) for k in types), float(size)) for g, size in enumerate(chain.group_sizes)
    ]


def visit_numbers(horizon: int, rate: float) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
    """P(visits > k) and P(visits = k) of one person over an episode, for all k that are not negligible (e-30)."""
    mean = horizon * rate
    k = np.arange(min(horizon, int(mean + 12 * np.sqrt(mean) + 40)) + 1)
    return binom.sf(k, horizon, rate), binom.pmf(k, horizon, rate)


@compiled
def _backward(accept, reject, end, chance, up, down, rate, horizon):  # type: ignore[no-untyped-def]
    """Dynamic programming from the end: accept where it is worth more than rejecting (ties: accept)."""
    scores = len(chance)
    plan = np.empty((horizon, scores), np.bool_)
    value, earlier = end.copy(), np.empty(scores)
    for t in range(horizon - 1, -1, -1):
        for c in range(scores):
            move = chance[c] * value[up[c]] + (1 - chance[c]) * value[down[c]] - value[c]
            gain_accept = accept[c] + move
            plan[t, c] = gain_accept >= reject[c]
            earlier[c] = value[c] + rate * (gain_accept if plan[t, c] else reject[c])
        value, earlier = earlier, value
    return plan, value


@compiled
def _forward(plan, initial, chance, gain, up, down, rate):  # type: ignore[no-untyped-def]
    """The moments of a plan."""
    horizon, scores = plan.shape
    share, later = initial.copy(), np.empty(scores)
    total, repayers, accepted = 0.0, 0.0, 0.0
    for t in range(horizon):
        later[:] = share
        for c in range(scores):
            visit = rate * share[c]
            repayers += visit * chance[c]
            if plan[t, c]:
                total += visit * gain[c]
                accepted += visit * chance[c]
                later[c] -= visit
                later[up[c]] += visit * chance[c]
                later[down[c]] += visit * (1 - chance[c])
        share, later = later, share
    moments = np.empty(3 + scores)
    moments[0], moments[1], moments[2] = total, repayers, accepted
    moments[3:] = share
    return moments


@compiled
def _visit_shares(plan, initial, chance, up, down, rate):  # type: ignore[no-untyped-def]
    horizon, scores = plan.shape
    visits = np.empty((horizon, scores))
    share = initial.copy()
    for t in range(horizon):
        visits[t] = rate * share
        for c in range(scores):
            if plan[t, c]:
                share[c] -= visits[t, c]
                share[up[c]] += visits[t, c] * chance[c]
                share[down[c]] += visits[t, c] * (1 - chance[c])
    return visits
