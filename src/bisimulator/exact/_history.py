"""The certificate of policies that also look at an applicant's past loans, as trained networks do.

A person is then a chain over (score, loans repaid, loans defaulted), finite over an episode. Values are computed
visit by visit; for the metric, people with exactly the same future are one class (`_lumping.py`), and if there are too
many classes, rare ones are merged into similar ones. Only the episode is covered: over an infinite discounted horizon
there are infinitely many histories.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bisimulator.core import Env, Moves, PersonChain, Values
from bisimulator.errors import check_probabilities, check_shape
from bisimulator.exact._entries import (
    SIGNALS,
    Certificate,
    CertificateEntry,
    entry_with_bound,
    pairs_to_bound,
    signals,
)
from bisimulator.exact._lumping import Histories, Layer, layered_distance
from bisimulator.exact.chain import person_chain, without_rare_types
from bisimulator.exact.visits import max_visits, visit_distribution

# What takes about 20 s and 1 GB: cells of all transport problems, and pairs of classes of one visit.
MAX_CELLS, MAX_PAIRS = 200_000_000, 20_000_000
# Beyond that, histories that are met less often than this are merged into similar ones, the less the better.
_RARE = np.geomspace(1e-10, 1.0, 31)


def certify_history(env: Env, accept: ArrayLike) -> Certificate:
    """The certificate of `pi(accept | group, score, repaid, defaulted)`, shape (G, C, K, K), K = `max_visits(env)`."""
    chain, size = without_rare_types(person_chain(env)), max_visits(env)
    probabilities = check_probabilities("policy", accept, ndim=(4,))
    expected = (env.num_groups, chain.num_scores, size, size)
    check_shape("policy", probabilities, expected, "groups x scores x repaid x defaulted")
    entries = _HistoryChains(chain, probabilities).entries()
    return Certificate(env.name, float("nan"), entries, env.group_names)


class _HistoryChains:
    """Every group's chain over histories; people start as (conscientiousness, score), without past loans."""

    def __init__(self, chain: PersonChain, accept: Float[Values, "G C K K"]) -> None:
        self.chain, self.accept = chain, accept
        start = chain.type_probs[:, None, None] * chain.initial
        self.start = np.moveaxis(start, 1, 0)  # (G, H, C)
        tail, _ = visit_distribution(chain.horizon, chain.visit_rate)
        self.visit_tail, left_out = np.split(tail, [accept.shape[-1]])
        possible = np.array([0.0, chain.reward_repaid, chain.reward_default])
        self._left_out = left_out.sum() * np.array([np.ptp(possible), 1.0, 1.0])  # for every signal

    def entries(self) -> dict[tuple[str, str], CertificateEntry]:
        """All entries of the certificate."""
        groups, _, scores = self.start.shape
        start = self.start.reshape(groups, -1)
        values = [self._value(signal).reshape(groups, -1) for signal in SIGNALS]
        pairs = {pair for value in values for pair in pairs_to_bound((start * value).sum(1))}
        distances, widths = self._distances(sorted(pairs)) if groups > 1 else ({}, np.zeros((3, 1, 1)))

        def entry(which: int, signal: str) -> CertificateEntry:
            def metric(g: int, h: int) -> tuple[Float[Values, "n n"], float]:
                distance, error = distances[g, h]
                return distance[which], float(error[which])

            return entry_with_bound(signal, "episode", start, values[which], metric, scores, widths[which])

        return {(signal, "episode"): entry(which, signal) for which, signal in enumerate(SIGNALS)}

    def _value(self, signal: str) -> Float[Values, "G H C"]:
        """The expected sum over the episode, by conscientiousness and score at the start."""
        chain, visits = self.chain, self.accept.shape[-1]
        p = chain.repayment[..., None]
        value = np.zeros((*chain.repayment.shape, visits + 1, visits + 1))
        for k in reversed(range(visits)):
            accept = self.accept[:, :, : k + 1, : k + 1]
            stay = value[..., :-1, :-1]
            loan = _expected(value[..., 1:, :-1], chain.repaid, p)
            loan += _expected(value[..., :-1, 1:], chain.defaulted, 1 - p)
            if not chain.rejected_stay:
                leaving = chain.rejected.probs.sum(-1)[..., None, None]
                stay = (1 - leaving) * stay + _expected(stay, chain.rejected, np.ones_like(p))
            value = (1 - accept) * stay + accept * loan
            value += self.visit_tail[k] * signals(accept * p[..., None], accept, chain)[signal]
        return np.moveaxis(value[..., 0, 0], 1, 0)

    def _distances(
        self, pairs: Sequence[tuple[int, int]]
    ) -> tuple[
        dict[tuple[int, int], tuple[Float[Values, "3 n n"], Float[Values, "3"]]], Float[Values, "3 G G"]
    ]:
        """For pairs of groups the distances of all signals between their people at the start, with error bounds.

        Where histories were merged, they are bounds on the distances. The second result says by how much the W1 of two
        groups under these bounds can exceed the one under the distances.
        """
        histories = {
            g: Histories(self.start[g], self.accept[g], self.chain, g, self.visit_tail)
            for g in sorted({g for pair in pairs for g in pair})
        }
        layers = _fitting_layers(histories, pairs)
        merged = {g: histories[g].merging_error(layers[g]) for g in histories}
        distances, widths = {}, np.zeros((len(SIGNALS), len(self.start), len(self.start)))
        for g, h in pairs:
            distance, error = layered_distance(layers[g], layers[h], self.visit_tail)
            rows, cols = np.flatnonzero(self.start[g]), np.flatnonzero(self.start[h])
            people = np.zeros((len(SIGNALS), self.start[g].size, self.start[h].size))
            between = distance[:, layers[g][-1].label[:, None], layers[h][-1].label]
            people[:, rows[:, None], cols] = between + merged[g][:, :, None] + merged[h][:, None]
            distances[g, h] = people, error + self._left_out
            average = merged[g] @ self.start[g].flat[rows] + merged[h] @ self.start[h].flat[cols]
            widths[:, g, h] = widths[:, h, g] = 2 * average
        return distances, widths


def _fitting_layers(
    histories: dict[int, Histories], pairs: Sequence[tuple[int, int]]
) -> dict[int, list[Layer]]:
    """Every group's layers, the last visit first, with as little merged as the limits allow."""
    with_merged = [*pairs, *((g, g) for g in histories)]  # merged classes are compared within their group

    def promises(rare: float) -> bool:
        cells = {g: group.num_cells(rare) for g, group in histories.items()}
        return sum(float(cells[g] @ cells[h]) for g, h in with_merged) <= MAX_CELLS

    # with infinity there is one class per visit, and nothing is too much
    for rare in (0.0, *filter(promises, _RARE), np.inf):
        layers, cells = [], 0
        compared = with_merged if rare else pairs
        for layer in zip(*(group.layers(rare) for group in histories.values()), strict=True):
            of = dict(zip(histories, layer, strict=True))
            cells += sum(of[g].cells * of[h].cells for g, h in compared)
            most = max(of[g].size * of[h].size for g, h in compared)
            if rare < np.inf and (cells > MAX_CELLS or most > MAX_PAIRS):
                break
            layers.append(layer)
        else:
            break
    return {g: list(group) for g, group in zip(histories, zip(*layers, strict=True), strict=True)}


def _expected(
    value: Float[Values, "H G C k k"], moves: Moves, share: Float[Values, "H G C 1"]
) -> Float[Values, "H G C k k"]:
    """The value after the move of a share of the people."""
    chance = (moves.probs * share)[..., None, None]
    total: Values = chance[:, :, :, 0] * value[:, :, moves.targets[:, 0]]
    for k in range(1, moves.targets.shape[1]):
        total += chance[:, :, :, k] * value[:, :, moves.targets[:, k]]
    return total
