"""Classes of loan histories: people of one group and visit with the same future, or nearly the same one.

If a policy looks at past loans, a person is a chain over (conscientiousness, score, repaid, defaulted), with a layer
of states per visit. Most states of a layer have the same future: a trained network that has rejected a person once
rejects them for ever, and after many repaid loans it accepts them for ever. So, from the last visit backwards, two
states are in one class if every decision and outcome has the same probability and leads to the same class of the
next layer. This is bisimulation, layer by layer, and loses nothing.

A policy that draws its actions has another probability for every history, so that no two states are alike. Then rare
classes are merged into similar ones that are kept (`rare`). What that can change is bounded: `merging_error`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from scipy.spatial import cKDTree

from bisimulator.core import Moves, PersonChain, Values
from bisimulator.exact._couplings import Couplings
from bisimulator.exact._entries import SIGNALS, signals
from bisimulator.exact._wasserstein import pairwise_wasserstein
from bisimulator.exact.transport import I64, Csr


@dataclasses.dataclass(frozen=True)
class Layer:
    """One group at one visit: n kept classes and where they lead, and the merged ones."""

    moves: Csr  # transition probabilities of all classes into the kept ones of the next layer
    signals: Float[Values, "3 all"]  # what the visit brings in expectation, in the order of SIGNALS
    kept: Int[I64, "n"]  # among all classes
    into: Int[I64, "all"]  # the number of the kept class that stands for each of them
    kind: Int[I64, "states"]  # the class of every reachable state, in ascending order of states

    @property
    def size(self) -> int:
        return len(self.kept)

    @property
    def label(self) -> Int[I64, "states"]:
        """The kept class that stands for every reachable state."""
        return self.into[self.kind]

    @property
    def kept_moves(self) -> Csr:
        return self._rows(self.kept)

    @property
    def cells(self) -> int:
        """All places to which the kept classes lead."""
        return int(np.diff(self.moves[0])[self.kept].sum())

    @property
    def merged(self) -> Int[I64, "m"]:
        """The classes that another one stands for."""
        return np.flatnonzero(self.kept[self.into] != np.arange(len(self.into)))

    def _rows(self, which: I64) -> Csr:
        indptr, indices, data = self.moves
        sizes = np.diff(indptr)[which]
        ends = np.concatenate([[0], sizes.cumsum()]).astype(np.int32)
        place = np.arange(ends[-1]) + np.repeat(indptr[which] - ends[:-1], sizes)
        return ends, indices[place], data[place]

    def merging_cost(self, distance: Float[Values, "3 n n"], visit_tail: float) -> Float[Values, "3 all"]:
        """How far every class is from the one that stands for it, if `distance` is that of the next layer's classes."""
        cost, merged = np.zeros_like(self.signals), self.merged
        if len(merged):
            stands = self.kept[self.into[merged]]
            cost[:, merged] = visit_tail * abs(self.signals[:, merged] - self.signals[:, stands])
            indptr, indices, data = self.moves
            moves = sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, distance.shape[1]))
            couplings = Couplings(moves, moves, merged, stands)
            cost[:, merged] += [couplings.improve(d)[0] for d in distance]
        return cost


class Histories:
    """The histories of one group's people, visit by visit.

    `start` is the distribution of people over conscientiousness and score, `accept` the policy by (score, repaid,
    defaulted).
    """

    def __init__(
        self,
        start: Float[Values, "H C"],
        accept: Float[Values, "C K K"],
        chain: PersonChain,
        group: int,
        visit_tail: Float[Values, "V"],
    ) -> None:
        self._accept, self._chain, self._group, self._visit_tail = accept, chain, group, visit_tail
        visits = len(visit_tail)
        self._shape = (*start.shape, visits + 1, visits + 1)
        self._reachable = [np.flatnonzero(start) * self._shape[2] * self._shape[3]]
        self._shares = [start[start != 0]]  # how many of the people are in each state
        for _ in range(visits - 1):
            targets, probs = self._after(self._reachable[-1])
            possible, share = np.zeros(self._shape, bool), np.zeros(self._shape)
            possible.flat[targets[probs > 0]] = True
            np.add.at(share.reshape(-1), targets, self._shares[-1][:, None] * probs)
            self._reachable.append(np.flatnonzero(possible))
            self._shares.append(share[possible])

    def _after(self, states: I64) -> tuple[Int[I64, "n k"], Float[Values, "n k"]]:
        """Where defaults, rejections and repayments lead, in this order, and their probabilities."""
        chain, group, shape = self._chain, self._group, self._shape
        latent, score, repaid, defaulted = np.unravel_index(states, shape)
        lend, p = self._accept[score, repaid, defaulted], chain.repayment[latent, group, score]

        def lead(moves: Moves, share: Values, repaid: I64, defaulted: I64) -> tuple[I64, Values]:
            place = latent[:, None], moves.targets[score], repaid[:, None], defaulted[:, None]
            return np.ravel_multi_index(place, shape), share[:, None] * moves.probs[latent, group, score]

        down = lead(chain.defaulted, lend * (1 - p), repaid, defaulted + 1)
        away = lead(chain.rejected, 1 - lend, repaid, defaulted)
        up = lead(chain.repaid, lend * p, repaid + 1, defaulted)
        stay = states[:, None], (1 - lend)[:, None] - away[1].sum(1, keepdims=True)
        targets, probs = zip(down, away, stay, up, strict=True)
        return np.concatenate(targets, 1), np.concatenate(probs, 1)

    def num_cells(self, rare: float) -> Float[Values, "V"]:
        """How many places the states lead to that would be kept, visit by visit, if no two of them were alike."""
        later = self._visit_tail[::-1].cumsum()[::-1]
        moves = self._after(self._reachable[0])[1].shape[1]
        visits = zip(later, self._shares, strict=True)
        return np.array([moves * max((left * share >= rare).sum(), 1) for left, share in visits])

    def layers(self, rare: float = 0.0) -> Iterator[Layer]:
        """The layers from the last visit to the first.

        A class is merged into a similar one if the visits that its people can expect, from then on, are fewer than
        `rare` per person of the group.
        """
        class_of = np.zeros(np.prod(self._shape), np.int64)  # after the last visit all states are equal
        value, later = np.zeros((len(SIGNALS), 1)), 0.0
        for states, share, tail in zip(
            reversed(self._reachable), reversed(self._shares), reversed(self._visit_tail), strict=True
        ):
            later += tail
            targets, probs = self._after(states)
            classes = np.where(probs > 0, class_of[targets], -1)
            first, kind = _distinct(np.concatenate([probs, classes], 1))
            classes, probs = classes[first], probs[first]
            signal = self._signals(probs)
            value = tail * signal + (probs * value[:, classes]).sum(-1)
            kept, into = _merge(
                later * np.bincount(kind, share), np.concatenate([value, signal * later]).T, rare
            )
            value = value[:, kept]
            class_of[states] = into[kind]
            yield Layer(_as_csr(classes, probs), signal, kept, into, kind)

    def _signals(self, probs: Float[Values, "n k"]) -> Float[Values, "3 n"]:
        defaults, repayments = self._chain.defaulted.targets.shape[1], self._chain.repaid.targets.shape[1]
        repaid, defaulted = probs[:, -repayments:].sum(1), probs[:, :defaults].sum(1)
        return np.stack([*signals(repaid, repaid + defaulted, self._chain).values()])

    def merging_error(self, layers: list[Layer]) -> Float[Values, "3 people"]:
        """How far the people of the first layer are, at most, from their classes, on average over their futures.

        A class's distance from the one that stands for it is at most the difference of the visit and the distance of
        what follows under the best coupling; whoever gets there later adds what was merged there.
        """
        if not any(len(layer.merged) for layer in layers):
            return np.zeros((len(SIGNALS), len(self._reachable[0])))
        between = np.zeros((len(SIGNALS), 1, 1))  # the classes of the next layer
        error = np.zeros((len(SIGNALS), np.prod(self._shape)))  # of every state of the next layer
        for states, layer, tail in zip(
            reversed(self._reachable), layers, reversed(self._visit_tail), strict=True
        ):
            targets, probs = self._after(states)
            cost = layer.merging_cost(between, tail)[:, layer.kind]
            error[:, states] = cost + (probs * error[:, targets]).sum(-1)
            between, _ = next_distance(between, layer, layer, tail)
        return error[:, self._reachable[0]]


def _distinct(rows: Float[Values, "n k"]) -> tuple[I64, I64]:
    """The first row of every distinct kind, and the number of every row's kind."""
    kind = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, level = np.unique(column, return_inverse=True)
        _, first, kind = np.unique(kind * len(values) + level, return_index=True, return_inverse=True)
    return first, kind


def _merge(
    visits: Float[Values, "all"], features: Float[Values, "all f"], rare: float
) -> tuple[Int[I64, "n"], Int[I64, "all"]]:
    """The classes that are kept, and which of them stands for each class: the one with the most similar features."""
    keep = visits >= rare
    keep[visits.argmax()] = True
    kept = np.flatnonzero(keep)
    into = keep.cumsum() - 1
    if len(kept) < len(keep):
        into[~keep] = cKDTree(features[kept]).query(features[~keep])[1]
    return kept, into


def _as_csr(classes: Int[I64, "n k"], probs: Float[Values, "n k"]) -> Csr:
    possible = probs > 0
    indptr = np.concatenate([[0], possible.sum(1).cumsum()]).astype(np.int32)
    return indptr, classes[possible].astype(np.int32), probs[possible]


def next_distance(
    distance: Float[Values, "3 m1 m2"], x: Layer, y: Layer, visit_tail: float
) -> tuple[Float[Values, "3 n1 n2"], Float[Values, "3"]]:
    """d_k = P(visits > k) |dR| + W1(d_(k+1)) between the kept classes of two layers, and the error of computing it."""
    moved, violation = pairwise_wasserstein(distance, x.kept_moves, y.kept_moves)
    for d, r_x, r_y in zip(moved, x.signals[:, x.kept], y.signals[:, y.kept], strict=True):
        d += visit_tail * abs(r_x[:, None] - r_y)
    return moved, violation + 1e-15 * moved.max((1, 2))


def layered_distance(
    left: list[Layer], right: list[Layer], visit_tail: Float[Values, "K"]
) -> tuple[Float[Values, "3 n1 n2"], Float[Values, "3"]]:
    """The distances d_0 between the first layers' kept classes for every signal, and the errors of their computation.

    `visit_tail` are the probabilities P(visits > k); layers from the last visit to the first.
    """
    distance, error = np.zeros((len(SIGNALS), 1, 1)), np.zeros(len(SIGNALS))
    for share, x, y in zip(visit_tail[::-1], left, right, strict=True):
        distance, more = next_distance(distance, x, y, share)
        error += more
    return distance, error
