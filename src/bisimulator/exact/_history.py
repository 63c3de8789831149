"""The certificate of policies that also look at an applicant's past loans, as trained networks do.

A person is then a chain over (score, loans repaid, loans defaulted), finite over an episode. Values are computed
visit by visit; for the metric, people with exactly the same future are one class (`_lumping.py`). Only the episode
is covered: over an infinite discounted horizon there are infinitely many histories.
"""

from __future__ import annotations

from itertools import combinations

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
    entry_without_bound,
    signals,
)
from bisimulator.exact._lumping import Layer, layered_distance, layers_backwards
from bisimulator.exact.chain import person_chain, without_rare_types
from bisimulator.exact.visits import max_visits, visit_distribution

# What takes about 20 s and 1 GB: cells of all transport problems, and pairs of classes of one visit.
MAX_CELLS, MAX_PAIRS = 200_000_000, 20_000_000
# Beyond that, this many of the last visits are left out, on average; the error bound includes them.
_RARE_VISITS = (0.0, 1e-9, 1e-6)


def certify_history(env: Env, accept: ArrayLike) -> Certificate:
    """The certificate of `pi(accept | group, score, repaid, defaulted)`, shape (G, C, K, K), K = `max_visits(env)`."""
    chain, size = without_rare_types(person_chain(env)), max_visits(env)
    probabilities = check_probabilities("policy", accept, ndim=(4,))
    expected = (env.num_groups, chain.num_scores, size, size)
    check_shape("policy", probabilities, expected, "groups x scores x repaid x defaulted")
    chains = _HistoryChains(chain, probabilities)
    entries = {(signal, "episode"): chains.entry(signal) for signal in SIGNALS}
    return Certificate(env.name, float("nan"), entries, env.group_names)


class _HistoryChains:
    """Every group's chain over histories; people start as (conscientiousness, score), without past loans."""

    def __init__(self, chain: PersonChain, accept: Float[Values, "G C K K"]) -> None:
        self.chain, self.accept = chain, accept
        start = chain.type_probs[:, None, None] * chain.initial
        self.start = np.moveaxis(start, 1, 0)  # (G, H, C)
        self.visit_tail, _ = visit_distribution(chain.horizon, chain.visit_rate)
        self.distances = self._distances()

    def entry(self, signal: str) -> CertificateEntry:
        """One entry of the certificate."""
        groups, _, scores = self.start.shape
        start, value = self.start.reshape(groups, -1), self._value(signal).reshape(groups, -1)
        if self.distances is None:
            return entry_without_bound(signal, "episode", (start * value).sum(1))
        distances, which = self.distances, list(SIGNALS).index(signal)

        def metric(g: int, h: int) -> tuple[Float[Values, "n n"], float]:
            distance, error = distances[g, h]
            return distance[which], float(error[which])

        return entry_with_bound(signal, "episode", start, value, metric, scores)

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

    def _distances(self) -> dict[tuple[int, int], tuple[Float[Values, "3 n n"], Float[Values, "3"]]] | None:
        """For every two groups the distances of all signals between their people at the start, with error bounds."""
        later = self.visit_tail[::-1].cumsum()[::-1]  # expected visits from the k-th on
        for left_out in _RARE_VISITS:
            visits = min(int((later > left_out).sum()), self.accept.shape[-1])
            layers = self._layers(visits)
            if layers is not None:
                break
        else:
            return None
        possible = np.array([0.0, self.chain.reward_repaid, self.chain.reward_default])
        omitted = later[visits] * np.array([np.ptp(possible), 1.0, 1.0])  # for every signal
        distances = {}
        for g, h in combinations(range(len(layers)), 2):
            distance, error = layered_distance(layers[g], layers[h], self.chain, self.visit_tail[:visits])
            people = np.zeros((len(SIGNALS), self.start[g].size, self.start[h].size))
            rows, cols = np.flatnonzero(self.start[g]), np.flatnonzero(self.start[h])
            people[:, rows[:, None], cols] = distance[:, layers[g][-1].label[:, None], layers[h][-1].label]
            distances[g, h] = people, error + omitted
        return distances

    def _layers(self, visits: int) -> list[list[Layer]] | None:
        """Every group's layers, the last visit first; None if there are too many pairs of classes to compare."""
        groups = [
            layers_backwards(self.start[g], accept, self.chain, g, visits)
            for g, accept in enumerate(self.accept)
        ]
        layers, cells = [], 0
        for layer in zip(*groups, strict=True):
            pairs = list(combinations(layer, 2))
            cells += sum(len(x.moves[1]) * len(y.moves[1]) for x, y in pairs)
            if cells > MAX_CELLS or any(x.size * y.size > MAX_PAIRS for x, y in pairs):
                return None
            layers.append(layer)
        return [list(group) for group in zip(*layers, strict=True)]


def _expected(
    value: Float[Values, "H G C k k"], moves: Moves, share: Float[Values, "H G C 1"]
) -> Float[Values, "H G C k k"]:
    """The value after the move of a share of the people."""
    chance = (moves.probs * share)[..., None, None]
    total: Values = chance[:, :, :, 0] * value[:, :, moves.targets[:, 0]]
    for k in range(1, moves.targets.shape[1]):
        total += chance[:, :, :, k] * value[:, :, moves.targets[:, k]]
    return total
