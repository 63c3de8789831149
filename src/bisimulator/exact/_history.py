"""The certificate of policies that also look at an applicant's past loans, as agents on observations do.

A person is then a chain over (score, loans repaid, loans defaulted), finite over an episode. Values are computed
visit by visit; for the metric, people who fare exactly alike are one class (lumping.py). Only the episode's horizon
is covered: over an endless discounted life there are endlessly many histories.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray

from bisimulator.core import Env, PersonChain
from bisimulator.errors import check_probabilities, check_shape
from bisimulator.exact._entries import SIGNALS, Certificate, View, signals, view_between, view_without_bound
from bisimulator.exact._lumping import Layer, layered_distance, layers_backwards
from bisimulator.exact._occupancy import visit_numbers
from bisimulator.exact.chain import person_chain, without_rare_types

Array = NDArray[np.float64]

# What can be computed in some 20 s and 1 GB: cells of all transport problems, and pairs of classes of one visit.
MOST_CELLS, MOST_PAIRS = 200_000_000, 20_000_000
# Where it is more, so many of the last visits are left out, on average; the error bound has them.
_RARE_VISITS = (0.0, 1e-9, 1e-6)


def most_visits(env: Env) -> int:
    """The number of visits to one person that an episode practically never exceeds (probability e-17)."""
    more, _ = visit_numbers(int(env.params.horizon), 1 / env.params.population)
    return int((more > 1e-17).sum())


def certify_history(env: Env, accept: ArrayLike) -> Certificate:
    """The certificate of pi(accept | group, score, repaid, defaulted), shape (G, C, K, K), K = most_visits(env)."""
    chain, size = without_rare_types(person_chain(env)), most_visits(env)
    accept = check_probabilities("policy", accept, ndim=(4,))
    wanted = (env.num_groups, chain.num_scores, size, size)
    check_shape("policy", accept, wanted, "groups x scores x repaid x defaulted")
    lives = _Lives(chain, accept)
    return Certificate(
        env.name, float("nan"), {(signal, "episode"): lives.view(signal) for signal in SIGNALS}
    )


class _Lives:
    """Everybody's life by history: people start as (conscientiousness, score), without past loans."""

    def __init__(self, chain: PersonChain, accept: Float[Array, "G C K K"]) -> None:
        self.chain, self.accept = chain, accept
        self.chance = chain.repayment  # (L, G, C)
        start = chain.type_probs[:, None, None] * chain.initial
        self.start = np.moveaxis(start, 1, 0)  # (G, L, C)
        self.more, _ = visit_numbers(chain.horizon, chain.visit_rate)
        self.distances = self._distances()

    def view(self, signal: str) -> View:
        groups, _, scores = self.start.shape
        start, value = self.start.reshape(groups, -1), self._value(signal).reshape(groups, -1)
        if self.distances is None:
            return view_without_bound(signal, "episode", (start * value).sum(1))
        found, which = self.distances, list(SIGNALS).index(signal)

        def metric(g: int, h: int) -> tuple[Float[Array, "n n"], float]:
            distance, error = found[g, h]
            return distance[which], float(error[which])

        return view_between(signal, "episode", start, value, metric, scores)

    def _value(self, signal: str) -> Float[Array, "G L C"]:
        """Expected sum from the start on, by the conscientiousness and the score at the start."""
        up, down = self.chain.next_scores
        p, visits = self.chance[..., None, None], self.accept.shape[-1]
        value = np.zeros((*self.chance.shape, visits + 1, visits + 1))
        for k in reversed(range(visits)):
            accept = self.accept[:, :, : k + 1, : k + 1]
            risen, fallen = value[:, :, up, 1:, :-1], value[:, :, down, :-1, 1:]
            value = (1 - accept) * value[..., :-1, :-1] + accept * (p * risen + (1 - p) * fallen)
            value += self.more[k] * signals(accept * p, accept, self.chain)[signal]
        return np.moveaxis(value[..., 0, 0], 1, 0)

    def _distances(self) -> dict[tuple[int, int], tuple[Float[Array, "3 n n"], Float[Array, "3"]]] | None:
        """For every two groups the metrics of all signals between their people at the start, and the error bounds."""
        rare = self.more[::-1].cumsum()[::-1]  # visits after the k-th, on average
        for left_out in _RARE_VISITS:
            visits = min(int((rare > left_out).sum()), self.accept.shape[-1])
            layers = self._layers(visits)
            if layers is not None:
                break
        else:
            return None
        possible = np.array([0.0, self.chain.reward_repaid, self.chain.reward_default])
        missed = rare[visits] * np.array([np.ptp(possible), 1.0, 1.0])  # for every signal
        distances = {}
        for g, h in combinations(range(len(layers)), 2):
            distance, error = layered_distance(layers[g], layers[h], self.chain, self.more[:visits])
            people = np.zeros((len(SIGNALS), self.start[g].size, self.start[h].size))
            rows, cols = np.flatnonzero(self.start[g]), np.flatnonzero(self.start[h])
            people[:, rows[:, None], cols] = distance[:, layers[g][-1].label[:, None], layers[h][-1].label]
            distances[g, h] = people, error + missed
        return distances

    def _layers(self, visits: int) -> list[list[Layer]] | None:
        """Every group's layers, the last first; None if there are too many pairs of classes to compare."""
        groups = [
            layers_backwards(self.start[g], self.chance[:, g], accept, self.chain, visits)
            for g, accept in enumerate(self.accept)
        ]
        layers, cells = [], 0
        for layer in zip(*groups, strict=True):
            pairs = list(combinations(layer, 2))
            cells += sum(len(x.moves[1]) * len(y.moves[1]) for x, y in pairs)
            if cells > MOST_CELLS or any(x.size * y.size > MOST_PAIRS for x, y in pairs):
                return None
            layers.append(layer)
        return [list(group) for group in zip(*layers, strict=True)]
