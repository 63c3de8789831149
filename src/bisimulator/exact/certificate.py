"""How fair a policy on lending is, with proof: exact values of every group, their gap, and a bound on it.

For any pairing of the groups' people at the start, |J_1 - J_2| <= E[d] with the bisimulation metric d (Theorems 2
and 3); the best pairing gives W1(d). The gap itself is exact. The bound adds what a gap cannot show: how differently
people are treated who were matched as well as possible. Where it exceeds the gap, differences cancel.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from numpy.typing import ArrayLike

from bisimulator.core import Env, PersonChain, Values, require_env
from bisimulator.errors import check_probabilities, check_shape
from bisimulator.exact._couplings import Couplings
from bisimulator.exact._entries import (
    HORIZONS,
    SIGNALS,
    Certificate,
    CertificateEntry,
    entry_with_bound,
    signals,
)
from bisimulator.exact._finite import check_discount
from bisimulator.exact.chain import person_chain, without_rare_types
from bisimulator.exact.metric import bisimulation_metric
from bisimulator.exact.visits import visit_distribution, visit_matrix

__all__ = [
    "HORIZONS",
    "SIGNALS",
    "Certificate",
    "CertificateEntry",
    "certify_table",
    "episode_distance",
    "visit_discount",
]


def visit_discount(env: Env, gamma: float) -> float:
    """The discount between two visits of a person that corresponds to a discount per step.

    An agent that discounts per step hardly sees what its decision does to the same person: with .99 per step and a
    visit every 1000 steps, .09 is left at the next visit.

    Args:
        env: an environment in which one person of the population applies per step.
        gamma: discount factor per step, in [0, 1).

    Returns:
        The expected discount from one visit of a person to the next.

    Example:
        >>> round(visit_discount(bisimulator.make("lending"), 0.99), 2)
        0.09
    """
    require_env(env)
    gamma, rate = check_discount(gamma), 1 / env.params.population
    return gamma * rate / (1 - gamma * (1 - rate))


def certify_table(env: Env, policy: ArrayLike, gamma: float = 0.99) -> Certificate:
    """The certificate of `pi(accept | group, score)`, an array (groups, scores).

    `bisimulator.certify` does this for any policy.

    Args:
        env: an environment in which people are independent Markov chains (lending, us-credit).
        policy: acceptance probabilities (groups, scores).
        gamma: discount factor from one visit of a person to the next.
    """
    chain = without_rare_types(person_chain(env))
    gamma = check_discount(gamma)
    accept = check_probabilities("policy", policy, ndim=(2,))
    check_shape("policy", accept, (env.num_groups, chain.num_scores), "groups x scores")
    chains = _PersonChains(chain, accept)
    entries = {(s, h): chains.entry(s, h, gamma) for h in HORIZONS for s in SIGNALS}
    return Certificate(env.name, gamma, entries, env.group_names)


class _PersonChains:
    """Every group's chain from visit to visit; the states are (conscientiousness, score)."""

    def __init__(self, chain: PersonChain, accept: Float[Values, "G C"]) -> None:
        groups, self.scores = accept.shape
        start = chain.type_probs[:, None, None] * chain.initial
        self.start = np.moveaxis(start, 1, 0).reshape(groups, -1)  # (G, H C)
        self.signals = {
            name: np.moveaxis(np.broadcast_to(value, chain.repayment.shape), 1, 0).reshape(groups, -1)
            for name, value in signals(accept * chain.repayment, accept, chain).items()
        }
        moves = visit_matrix(accept, chain)  # (H, G, C, C)
        self.moves = [_sparse(moves[:, g]) for g in range(groups)]
        tail, _ = visit_distribution(chain.horizon, chain.visit_rate)
        self.visit_tail = tail[tail > 1e-17]  # P(visits > k)

    def entry(self, signal: str, horizon: str, gamma: float) -> CertificateEntry:
        """One entry of the certificate."""
        rewards = self.signals[signal]
        value = np.stack([self._value(g, rewards[g], horizon, gamma) for g in range(len(rewards))])

        def metric(g: int, h: int) -> tuple[Float[Values, "n n"], float]:
            return self._distance(g, h, rewards, horizon, gamma)

        return entry_with_bound(signal, horizon, self.start, value, metric, self.scores)

    def _value(self, g: int, reward: Float[Values, "n"], horizon: str, gamma: float) -> Float[Values, "n"]:
        """The expected sum from each state on."""
        if horizon == "discounted":
            dense = self.moves[g].toarray()
            discounted: Values = np.linalg.solve(np.eye(len(reward)) - gamma * dense, reward)
            return discounted
        value = np.zeros_like(reward)
        for share in self.visit_tail[::-1]:
            value = share * reward + self.moves[g] @ value
        return value

    def _distance(
        self, g: int, h: int, rewards: Float[Values, "G n"], horizon: str, gamma: float
    ) -> tuple[Float[Values, "n n"], float]:
        """The metric between the states of two groups, and its error bound."""
        if horizon == "episode":
            return episode_distance(self.moves[g], self.moves[h], rewards[g], rewards[h], self.visit_tail)
        both = sp.block_diag([self.moves[g], self.moves[h]])
        labels = np.repeat([0, 1], rewards.shape[1])
        metric = bisimulation_metric(both, np.concatenate([rewards[g], rewards[h]]), gamma, groups=labels)
        return metric.distance, metric.error_bound


def _sparse(moves: Float[Values, "H C C"]) -> sp.csr_array:
    """The moves of all hidden types, without zeros: each would be one more place in every transport problem."""
    matrix = sp.csr_array(sp.block_diag(moves))
    matrix.eliminate_zeros()
    return matrix


def episode_distance(
    left: sp.csr_array,
    right: sp.csr_array,
    reward_left: Float[Values, "n1"],
    reward_right: Float[Values, "n2"],
    visit_tail: Float[Values, "K"],
) -> tuple[Float[Values, "n1 n2"], float]:
    """The undiscounted metric over a finite number of visits: d_k = P(visits > k) |dR| + W1(d_(k+1))."""
    shape = (len(reward_left), len(reward_right))
    x, y = np.indices(shape).reshape(2, -1)
    couplings = Couplings(left, right, x, y)
    cost = abs(reward_left[:, None] - reward_right)
    distance, error = np.zeros(shape), 0.0
    for share in visit_tail[::-1]:
        wasserstein, violation = couplings.improve(distance)
        distance = share * cost + wasserstein.reshape(shape)
        error += violation + 1e-15 * distance.max()
    return distance, error
