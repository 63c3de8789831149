"""Capabilities: what some scenarios can do and others cannot. A scenario declares those that it has.

Shapes: N people, G groups, C scores, D observation entries, K omega entries.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Generic

import equinox as eqx
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from bisimulator.core.outcome import Tallies
from bisimulator.core.person_chain import PersonChain, Values
from bisimulator.core.types import Act, Decisions, P, S


@dataclasses.dataclass(frozen=True)
class ParallelEpisodes(Generic[P, S]):
    """Capability: whole episodes at once, because people do not influence each other.

    `plan(key, params, horizon)` draws everything that is random except the policy; `play(plan, act, params)` plays it,
    so the same episode can be played again under another policy or another omega.
    """

    plan: Callable[[Key[Array, ""], P, int], PyTree]
    play: Callable[[PyTree, Act, P], tuple[Decisions, S]]


@dataclasses.dataclass(frozen=True)
class PersonModel(Generic[P]):
    """Capability: each person is an independent finite Markov chain, so certificates and frontiers are exact.

    `observations(params, k, groups)`: what the agent sees of every (group, score, loans repaid < k, loans defaulted
    < k) of these groups, provided that observed scores are true ones, which is the case with `true_omega(params)`.
    Groups differ in their one-hot only, entries 1 to G.
    `has_clock(params)`: observations also have the time, so these are only those at the start of an episode.

    `split_scores(params, initial, edges)`: the same people on a finer scale. Every score is divided into equally many
    parts that repay alike, with distributions `initial` and the bins' `edges`, and a loan moves a person to the same
    part of another score. None if scores cannot be divided.

    `with_repayment(params, rates)`: the same people with other repayment rates, by score or by whole scores that were
    split. None if rates cannot be set.
    """

    chain: Callable[[P], PersonChain]
    observations: Callable[[P, int, Sequence[int]], Float[Array, "g C k k D"]]
    true_omega: Callable[[P], Float[Array, "G K"]]
    has_clock: Callable[[P], bool] = lambda params: False
    split_scores: Callable[[P, Float[Values, "G D"], Sequence[float]], P] | None = None
    with_repayment: Callable[[P, Float[Values, "G c"]], P] | None = None


@dataclasses.dataclass(frozen=True)
class ContactNetwork(Generic[P]):
    """Capability: people in a contact network, of whom each step treats one. Action 0 treats nobody, i the i-th.

    `treatable(observations, params)`: whom a treatment changes.
    """

    contacts: Callable[[P], Float[Array, "N N"]]  # 1 where two people are in contact
    treatable: Callable[[Float[Array, "... D"], P], Bool[Array, "... N"]]


@dataclasses.dataclass(frozen=True)
class Allocation(Generic[P, S]):
    """Capability: each step divides units among the groups.

    `rates(state)` are the true rates of incidents, which only an oracle sees. `action(units, params)` is the action
    that allocates so many units to each group.
    """

    units: Callable[[P], int]  # how many there are in a step
    rates: Callable[[S], Float[Array, "G"]]
    action: Callable[[Int[Array, "... G"], P], Array]


class Round(eqx.Module):
    """What a college knows of a round of applicants once it has decided on them."""

    score: Float[Array, "... N"]  # as they present it
    group: Int[Array, "... N"]
    admitted: Bool[Array, "... N"]
    eligible: Bool[Array, "... N"]  # known of the admitted ones only; False of the others


@dataclasses.dataclass(frozen=True)
class Admissions(Generic[P]):
    """Capability: each step publishes a threshold in [0, 1], to which a round of applicants reacts.

    `last_round(observations, params)`: the last one, of which nobody is admitted before the first step.
    `max_raise(params)`: how far it can be worth to raise a score.
    """

    last_round: Callable[[Float[Array, "... D"], P], Round]
    max_raise: Callable[[P], Float[Array, "G"]]


class SingleDecisions(eqx.Module):
    """Decisions on one group each."""

    # begins with a score in 0..1, by which groups are compared, and the group one-hot
    obs: Float[Array, "... F"]
    action: Int[Array, "..."]
    reward: Float[Array, "..."]
    group: Int[Array, "..."]


@dataclasses.dataclass(frozen=True)
class GroupDecisions(Generic[P]):
    """Capability: a step about all groups falls apart into K decisions, each on one group.

    `split(observation, action, next observation, tallies, params)` has leading axes (..., K). The rewards add up to the
    reward of the step.
    """

    num_actions: Callable[[P], int]  # of a single decision
    observation_size: Callable[[P], int]  # of a single decision
    split: Callable[[Float[Array, "... D"], Array, Float[Array, "... D"], Tallies, P], SingleDecisions]
