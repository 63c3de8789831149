"""How fair a policy on lending is, with proof: exact values of every group, their gap, and what bounds it.

For any pairing of the groups' people at the start, |J_1 - J_2| <= E[d] with the bisimulation metric d (Theorems 2
and 3); the best pairing gives W1(d). The gap itself is exact. The bound adds what a gap cannot say: how differently
people are treated who were matched as well as possible. Where it exceeds the gap, differences cancel.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from numpy.typing import NDArray

from bisimulator.core import Env
from bisimulator.errors import check_known, check_probabilities, check_shape
from bisimulator.exact.chain import lending_params, normalised, repayment_given_latent, visit_matrix
from bisimulator.exact.couplings import Couplings
from bisimulator.exact.finite import check_discount
from bisimulator.exact.metric import bisimulation_metric
from bisimulator.exact.occupancy import visit_numbers
from bisimulator.exact.transport import optimal_transport

Array = NDArray[np.float64]

SIGNALS = {"reward": "the bank's reward", "loans": "loans", "repaid": "repaid loans"}
HORIZONS = {"discounted": "discounted per visit", "episode": "over an episode"}


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """What one signal adds up to per person of each group, and how far apart the two most unequal groups are."""

    signal: str
    horizon: str
    values: Float[Array, "G"]  # J(g), expected sum per person
    groups: tuple[int, int]  # the two groups with the largest gap
    gap: float
    bound: float  # W1(d) of these two groups; NaN where there is none
    error_bound: float  # gap <= bound + error_bound, proven, rounding included
    pairing: Float[Array, "C C"] | None  # the optimal pairing of their scores at the start
    worst_pair: tuple[int, int] | None  # matched scores whose futures differ most
    worst_distance: float
    over_time: float  # what cancels within a matched pair, between better and worse times
    between_people: float  # what cancels between pairs, some favouring the one group and some the other
    gaps: Float[Array, "G G"]
    bounds: Float[Array, "G G"]

    @property
    def slack(self) -> float:
        return self.bound - self.gap

    @property
    def explanation(self) -> str:
        if len(self.values) == 1:
            return "There is only one group, so there is nothing to compare."
        if np.isnan(self.bound):
            return "No bound: the policy looks at people's past loans. The gap is exact all the same."
        if self.bound <= 1e-9:
            return "The groups fare exactly alike: matched people have the same future in every respect."
        if self.slack <= 0.01 * self.bound:
            return (
                "Tight: matched people differ in one direction only, so the gap shows all of the difference."
            )
        return (
            f"Fairness by compensation: matched people differ by {self.bound:.2f} on average, of which the groups' "
            f"averages show {self.gap:.2f}; {self.over_time:.2f} cancels over a pair's own time (better now, worse "
            f"later) and {self.between_people:.2f} between pairs (some favour one group, some the other)."
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Certificate:
    """All views of one policy; the first is the one that the properties speak of."""

    env: str
    gamma: float  # per visit of a person
    views: Mapping[tuple[str, str], View]
    exact: bool = True

    def view(self, signal: str = "reward", horizon: str = "discounted") -> View:
        check_known("signal", signal, SIGNALS)
        check_known("horizon", horizon, HORIZONS)
        if (signal, horizon) not in self.views:
            raise ValueError(f"this certificate has no {horizon} view; it has {sorted(self.views)}")
        return self.views[signal, horizon]

    @property
    def main(self) -> View:
        return next(iter(self.views.values()))

    @property
    def values(self) -> Float[Array, "G"]:
        return self.main.values

    @property
    def gap(self) -> float:
        return self.main.gap

    @property
    def bound(self) -> float:
        return self.main.bound

    @property
    def slack(self) -> float:
        return self.main.slack

    @property
    def explanation(self) -> str:
        return self.main.explanation

    def __str__(self) -> str:
        lines = [f"Certificate for {self.env}: exact"]
        for (signal, horizon), view in self.views.items():
            lines.append(
                f"  {SIGNALS[signal]}, {HORIZONS[horizon]}: gap {view.gap:.4g}, bound {view.bound:.4g}"
            )
        return "\n".join([*lines, f"  {self.explanation}"])


def visit_discount(env: Env, gamma: float) -> float:
    """The discount between two visits of a person that a discount per step amounts to.

    With .99 a step and a visit every 1000 steps this is .09: an agent that discounts per step hardly sees what its
    decision does to the same person.
    """
    gamma, rate = check_discount(gamma), 1 / env.params.population
    return gamma * rate / (1 - gamma * (1 - rate))


def certify_table(env: Env, policy: Any, gamma: float = 0.99) -> Certificate:
    """The certificate of pi(accept | group, score), an array (groups, scores), on a lending environment."""
    params = lending_params(env)
    gamma = check_discount(gamma)
    accept = check_probabilities("policy", policy, ndim=(2,))
    check_shape("policy", accept, (env.num_groups, params.num_scores), "groups x scores")
    lives = _Lives(params, accept)
    views = {(s, h): lives.view(s, h, gamma) for h in HORIZONS for s in SIGNALS}
    return Certificate(env.name, gamma, views)


def signals(chance: Array, accept: Array, params: Any) -> dict[str, Array]:
    """What a visit brings on average, for every signal."""
    repaid = accept * chance
    reward = repaid * float(params.reward_repaid) + (accept - repaid) * float(params.reward_default)
    return {"reward": reward, "loans": accept, "repaid": repaid}


class _Lives:
    """Everybody's chain from visit to visit: states are (conscientiousness, score), all groups alike in shape."""

    def __init__(self, params: Any, accept: Float[Array, "G C"]) -> None:
        chance, weight = repayment_given_latent(params)  # (K, G, C), (K,)
        seen = weight > 1e-10  # the outermost points of the quadrature weigh nothing
        chance, weight = chance[seen], weight[seen] / weight[seen].sum()
        groups, self.scores = accept.shape
        start = weight[:, None, None] * normalised(params.initial)
        self.start = np.moveaxis(start, 1, 0).reshape(groups, -1)  # (G, K C)
        self.signals = {
            name: np.moveaxis(np.broadcast_to(value, chance.shape), 1, 0).reshape(groups, -1)
            for name, value in signals(chance, accept, params).items()
        }
        moves = visit_matrix(np.broadcast_to(accept, chance.shape), chance, params)  # (K, G, C, C)
        self.moves = [sp.csr_array(sp.block_diag(moves[:, g])) for g in range(groups)]
        more, _ = visit_numbers(int(params.horizon), 1 / params.population)
        self.more = more[more > 1e-17]

    def view(self, signal: str, horizon: str, gamma: float) -> View:
        rewards = self.signals[signal]
        value = np.stack([self._value(g, rewards[g], horizon, gamma) for g in range(len(rewards))])
        totals = (self.start * value).sum(1)
        gaps = abs(totals[:, None] - totals)
        bounds, errors, plans, distances = np.zeros_like(gaps), np.zeros_like(gaps), {}, {}
        for g, h in combinations(range(len(totals)), 2):
            distance, error = self._distance(g, h, rewards, horizon, gamma)
            bounds[g, h], plan = optimal_transport(distance, self.start[g], self.start[h])
            bounds[h, g], errors[g, h] = bounds[g, h], error
            plans[g, h], distances[g, h] = plan, distance
        if not plans:
            return _view_of_one(signal, horizon, totals)
        g, h = max(plans, key=lambda pair: gaps[pair])
        plan, distance, differences = plans[g, h], distances[g, h], value[g][:, None] - value[h]
        absolute = float((plan * abs(differences)).sum())
        matched = plan > 1e-7  # less than that is the rounding of single-precision parameters
        worst = np.unravel_index(np.where(matched, distance, -1.0).argmax(), plan.shape)
        by_score = plan.reshape(-1, self.scores, plan.shape[1] // self.scores, self.scores).sum((0, 2))
        return View(
            signal=signal,
            horizon=horizon,
            values=totals,
            groups=(g, h),
            gap=float(gaps[g, h]),
            bound=float(bounds[g, h]),
            error_bound=float(errors[g, h]) + 1e-12 * abs(value).max(),
            pairing=by_score,
            worst_pair=(int(worst[0] % self.scores), int(worst[1] % self.scores)),
            worst_distance=float(distance[worst]),
            over_time=max(float(bounds[g, h]) - absolute, 0.0),
            between_people=max(absolute - float(gaps[g, h]), 0.0),
            gaps=gaps,
            bounds=bounds,
        )

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


def _view_of_one(signal: str, horizon: str, totals: Array) -> View:
    zero = np.zeros((1, 1))
    return View(signal, horizon, totals, (0, 0), 0.0, 0.0, 0.0, None, None, 0.0, 0.0, 0.0, zero, zero)
