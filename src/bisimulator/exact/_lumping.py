"""Histories of loans made few: people of one group and visit who fare exactly alike from here on are one class.

Where a policy looks at past loans, a person is a chain over (conscientiousness, score, repaid, defaulted), a layer of
states for every visit. Most of them differ in nothing that is still to come: whom a trained network has once rejected
it rejects for ever, and after many repaid loans it accepts for ever. So from the last visit backwards, two states are
one class if they take each decision and its outcome with the same probabilities into the same classes of the next
layer. That is bisimulation, layer by layer, and loses nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from bisimulator.core import PersonChain
from bisimulator.exact._entries import signals
from bisimulator.exact._wasserstein import all_widths

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Layer:
    """The n classes of one group at one visit, and where they are at the next."""

    # CSR: rows, the next layer's classes, probabilities
    moves: tuple[NDArray[np.int32], NDArray[np.int32], Array]
    repaid: Float[Array, "n"]  # probability of a loan that is repaid
    defaulted: Float[Array, "n"]
    label: Int[Indices, "states"]  # the class of every state that can be reached, in ascending order

    @property
    def size(self) -> int:
        return len(self.repaid)

    def signals(self, chain: PersonChain) -> Float[Array, "3 n"]:
        """What the visit brings on average, in the order of SIGNALS."""
        return np.stack([*signals(self.repaid, self.repaid + self.defaulted, chain).values()])


def layers_backwards(
    start: Float[Array, "L C"],
    chance: Float[Array, "L C"],
    accept: Float[Array, "C K K"],
    chain: PersonChain,
    visits: int,
) -> Iterator[Layer]:
    """One group's layers from the last of its visits to the first.

    `start` is the distribution of people over conscientiousness and score, `chance` how likely they repay, `accept`
    the policy by (score, repaid, defaulted).
    """
    shape = (*start.shape, visits + 1, visits + 1)
    risen, fallen = chain.next_scores

    def after(states: Indices) -> tuple[Int[Indices, "n 3"], Float[Array, "n 3"]]:
        """Where a default, a rejection and a repayment lead, and how likely they are."""
        latent, score, repaid, defaulted = np.unravel_index(states, shape)
        lend, p = accept[score, repaid, defaulted], chance[latent, score]
        down = np.ravel_multi_index((latent, fallen[score], repaid, defaulted + 1), shape)
        up = np.ravel_multi_index((latent, risen[score], repaid + 1, defaulted), shape)
        return np.stack([down, states, up], 1), np.stack([lend * (1 - p), 1 - lend, lend * p], 1)

    reached = [np.flatnonzero(start) * shape[2] * shape[3]]
    for _ in range(visits - 1):
        targets, chances = after(reached[-1])
        possible = np.zeros(shape, bool)
        possible.flat[targets[chances > 0]] = True
        reached.append(np.flatnonzero(possible))

    class_of = np.zeros(np.prod(shape), np.int64)  # after the last visit all are alike
    for states in reversed(reached):
        targets, chances = after(states)
        classes = np.where(chances > 0, class_of[targets], -1)
        first, label = _distinct(np.concatenate([chances, classes], 1))
        class_of[states] = label
        yield _layer(classes[first], chances[first], label)


def _distinct(rows: Float[Array, "n k"]) -> tuple[Indices, Indices]:
    """The first of every kind of row, and the number of every row's kind."""
    kind = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, level = np.unique(column, return_inverse=True)
        _, first, kind = np.unique(kind * len(values) + level, return_index=True, return_inverse=True)
    return first, kind


def _layer(classes: Int[Indices, "n 3"], chances: Float[Array, "n 3"], label: Indices) -> Layer:
    possible = chances > 0
    indptr = np.concatenate([[0], possible.sum(1).cumsum()]).astype(np.int32)
    moves = indptr, classes[possible].astype(np.int32), chances[possible]
    return Layer(moves, chances[:, 2], chances[:, 0], label)


def layered_distance(
    left: list[Layer], right: list[Layer], chain: PersonChain, more: Float[Array, "K"]
) -> tuple[Float[Array, "3 n1 n2"], Float[Array, "3"]]:
    """d_0 between the first layers' classes for every signal, and its error bounds.

    d_k = P(visits > k) |dR| + W1(d_(k+1)), with `more` the probabilities P(visits > k); layers from the last to the
    first.
    """
    distance, error = np.zeros((3, 1, 1)), np.zeros(3)
    for share, x, y in zip(more[::-1], left, right, strict=True):
        distance, violation = all_widths(distance, x.moves, y.moves)
        for d, r_x, r_y in zip(distance, x.signals(chain), y.signals(chain), strict=True):
            d += share * abs(r_x[:, None] - r_y)
        error += violation + 1e-15 * distance.max((1, 2))
    return distance, error
