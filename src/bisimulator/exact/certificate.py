"""How fair a policy on lending is, with proof: exact values of every group, their gap, and what bounds it.

For any pairing of the groups' people at the start, |J_1 - J_2| <= E[d] with the bisimulation metric d (Theorems 2
and 3); the best pairing gives W1(d). The gap itself is exact. The bound adds what a gap cannot say: how differently
people are treated who were matched as well as possible. Where it exceeds the gap, differences cancel.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray

from bisimulator.core import Env, PersonChain
from bisimulator.errors import check_probabilities, check_shape
from bisimulator.exact._couplings import Couplings
from bisimulator.exact._entries import HORIZONS, SIGNALS, Certificate, View, signals, view_between
from bisimulator.exact._finite import check_discount
from bisimulator.exact._occupancy import visit_numbers
from bisimulator.exact.chain import person_chain, visit_matrix, without_rare_types
from bisimulator.exact.metric import bisimulation_metric

Array = NDArray[np.float64]


def visit_discount(env: Env, gamma: float) -> float:
    """The discount between two visits of a person that a discount per step amounts to.

    With .99 a step and a visit every 1000 steps this is .09: an agent that discounts per step hardly sees what its
    decision does to the same person.
    """
    gamma, rate = check_discount(gamma), 1 / env.params.population
    return gamma * rate / (1 - gamma * (1 - rate))


def certify_table(env: Env, policy: ArrayLike, gamma: float = 0.99) -> Certificate:
    """The certificate of pi(accept | group, score), an array (groups, scores), on a lending environment."""
    chain = without_rare_types(person_chain(env))
    gamma = check_discount(gamma)
    accept = check_probabilities("policy", policy, ndim=(2,))
    check_shape("policy", accept, (env.num_groups, chain.num_scores), "groups x scores")
    lives = _Lives(chain, accept)
    views = {(s, h): lives.view(s, h, gamma) for h in HORIZONS for s in SIGNALS}
    return Certificate(env.name, gamma, views)


class _Lives:
    """Everybody's chain from visit to visit: states are (conscientiousness, score), all groups alike in shape."""

    def __init__(self, chain: PersonChain, accept: Float[Array, "G C"]) -> None:
        chance = chain.repayment  # (K, G, C)
        groups, self.scores = accept.shape
        start = chain.type_probs[:, None, None] * chain.initial
        self.start = np.moveaxis(start, 1, 0).reshape(groups, -1)  # (G, K C)
        self.signals = {
            name: np.moveaxis(np.broadcast_to(value, chance.shape), 1, 0).reshape(groups, -1)
            for name, value in signals(accept * chance, accept, chain).items()
        }
        moves = visit_matrix(accept, chain)  # (K, G, C, C)
        self.moves = [sp.csr_array(sp.block_diag(moves[:, g])) for g in range(groups)]
        more, _ = visit_numbers(chain.horizon, chain.visit_rate)
        self.more = more[more > 1e-17]

    def view(self, signal: str, horizon: str, gamma: float) -> View:
        rewards = self.signals[signal]
        value = np.stack([self._value(g, rewards[g], horizon, gamma) for g in range(len(rewards))])

        def metric(g: int, h: int) -> tuple[Float[Array, "n n"], float]:
            return self._distance(g, h, rewards, horizon, gamma)

        return view_between(signal, horizon, self.start, value, metric, self.scores)

    def _value(self, g: int, reward: Array, horizon: str, gamma: float) -> Array:
        """Expected sum from each state on."""
        if horizon == "discounted":
            dense = self.moves[g].toarray()
            return np.linalg.solve(np.eye(len(reward)) - gamma * dense, reward)
        value = np.zeros_like(reward)
        for share in self.more[::-1]:
            value = share * reward + self.moves[g] @ value
        return value

    def _distance(
        self, g: int, h: int, rewards: Array, horizon: str, gamma: float
    ) -> tuple[Float[Array, "n n"], float]:
        """The metric between the states of two groups, and its error bound."""
        if horizon == "episode":
            return episode_distance(self.moves[g], self.moves[h], rewards[g], rewards[h], self.more)
        both = sp.block_diag([self.moves[g], self.moves[h]])
        labels = np.repeat([0, 1], rewards.shape[1])
        found = bisimulation_metric(both, np.concatenate([rewards[g], rewards[h]]), gamma, groups=labels)
        return found.distance, found.error_bound


def episode_distance(
    left: sp.csr_array, right: sp.csr_array, reward_left: Array, reward_right: Array, more: Float[Array, "K"]
) -> tuple[Float[Array, "n1 n2"], float]:
    """The undiscounted metric over a finite number of visits: d_k = P(visits > k) |dR| + W1(d_(k+1))."""
    shape = (len(reward_left), len(reward_right))
    x, y = np.indices(shape).reshape(2, -1)
    couplings = Couplings(left, right, x, y)
    cost = abs(reward_left[:, None] - reward_right)
    distance, error = np.zeros(shape), 0.0
    for share in more[::-1]:
        width, violation = couplings.improve(distance)
        distance = share * cost + width.reshape(shape)
        error += violation + 1e-15 * distance.max()
    return distance, error
