"""Exact lumping of loan histories: people of one group and visit with exactly the same future form one class.

If a policy looks at past loans, a person is a chain over (conscientiousness, score, repaid, defaulted), with a layer
of states per visit. Most states of a layer have the same future: a trained network that has rejected a person once
rejects them for ever, and after many repaid loans it accepts them for ever. So, from the last visit backwards, two
states are in one class if every decision and outcome has the same probability and leads to the same class of the
next layer. This is bisimulation, layer by layer, and loses nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from bisimulator.core import Moves, PersonChain, Values
from bisimulator.exact._entries import signals
from bisimulator.exact._wasserstein import pairwise_wasserstein
from bisimulator.exact.transport import I64, Csr


@dataclasses.dataclass(frozen=True)
class Layer:
    """The n classes of one group at one visit, and where they lead."""

    moves: Csr  # transition probabilities into the classes of the next layer
    repaid: Float[Values, "n"]  # probability of a loan that is repaid
    defaulted: Float[Values, "n"]
    label: Int[I64, "states"]  # the class of every reachable state, in ascending order of states

    @property
    def size(self) -> int:
        return len(self.repaid)

    def signals(self, chain: PersonChain) -> Float[Values, "3 n"]:
        """The expected signals of the visit, in the order of SIGNALS."""
        return np.stack([*signals(self.repaid, self.repaid + self.defaulted, chain).values()])


def layers_backwards(
    start: Float[Values, "H C"], accept: Float[Values, "C K K"], chain: PersonChain, group: int, visits: int
) -> Iterator[Layer]:
    """One group's layers from the last visit to the first.

    `start` is the distribution of people over conscientiousness and score, `accept` the policy by (score, repaid,
    defaulted).
    """
    shape = (*start.shape, visits + 1, visits + 1)

    def after(states: I64) -> tuple[Int[I64, "n k"], Float[Values, "n k"]]:
        """Where defaults, rejections and repayments lead, in this order, and their probabilities."""
        latent, score, repaid, defaulted = np.unravel_index(states, shape)
        lend, p = accept[score, repaid, defaulted], chain.repayment[latent, group, score]

        def lead(moves: Moves, share: Values, repaid: I64, defaulted: I64) -> tuple[I64, Values]:
            place = latent[:, None], moves.targets[score], repaid[:, None], defaulted[:, None]
            return np.ravel_multi_index(place, shape), share[:, None] * moves.probs[latent, group, score]

        down = lead(chain.defaulted, lend * (1 - p), repaid, defaulted + 1)
        away = lead(chain.rejected, 1 - lend, repaid, defaulted)
        up = lead(chain.repaid, lend * p, repaid + 1, defaulted)
        stay = states[:, None], (1 - lend)[:, None] - away[1].sum(1, keepdims=True)
        targets, probs = zip(down, away, stay, up, strict=True)
        return np.concatenate(targets, 1), np.concatenate(probs, 1)

    reachable = [np.flatnonzero(start) * shape[2] * shape[3]]
    for _ in range(visits - 1):
        targets, probs = after(reachable[-1])
        possible = np.zeros(shape, bool)
        possible.flat[targets[probs > 0]] = True
        reachable.append(np.flatnonzero(possible))

    class_of = np.zeros(np.prod(shape), np.int64)  # after the last visit all states are equal
    for states in reversed(reachable):
        targets, probs = after(states)
        classes = np.where(probs > 0, class_of[targets], -1)
        first, label = _distinct(np.concatenate([probs, classes], 1))
        class_of[states] = label
        yield _layer(classes[first], probs[first], label, chain)


def _distinct(rows: Float[Values, "n k"]) -> tuple[I64, I64]:
    """The first row of every distinct kind, and the number of every row's kind."""
    kind = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, level = np.unique(column, return_inverse=True)
        _, first, kind = np.unique(kind * len(values) + level, return_index=True, return_inverse=True)
    return first, kind


def _layer(classes: Int[I64, "n k"], probs: Float[Values, "n k"], label: I64, chain: PersonChain) -> Layer:
    possible = probs > 0
    indptr = np.concatenate([[0], possible.sum(1).cumsum()]).astype(np.int32)
    moves = indptr, classes[possible].astype(np.int32), probs[possible]
    defaults, repayments = chain.defaulted.targets.shape[1], chain.repaid.targets.shape[1]
    return Layer(moves, probs[:, -repayments:].sum(1), probs[:, :defaults].sum(1), label)


def layered_distance(
    left: list[Layer], right: list[Layer], chain: PersonChain, visit_tail: Float[Values, "K"]
) -> tuple[Float[Values, "3 n1 n2"], Float[Values, "3"]]:
    """The distances d_0 between the first layers' classes for every signal, and their error bounds.

    d_k = P(visits > k) |dR| + W1(d_(k+1)), with `visit_tail` the probabilities P(visits > k); layers from the
    last visit to the first.
    """
    distance, error = np.zeros((3, 1, 1)), np.zeros(3)
    for share, x, y in zip(visit_tail[::-1], left, right, strict=True):
        distance, violation = pairwise_wasserstein(distance, x.moves, y.moves)
        for d, r_x, r_y in zip(distance, x.signals(chain), y.signals(chain), strict=True):
            d += share * abs(r_x[:, None] - r_y)
        error += violation + 1e-15 * distance.max((1, 2))
    return distance, error
