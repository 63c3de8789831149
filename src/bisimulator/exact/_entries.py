"""What a certificate says: every group's value, their gap, the bound on it, and where the two differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from bisimulator.core import PersonChain
from bisimulator.errors import check_known
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
    error_bound: float  # gaps <= bounds + error_bound, proven, rounding included
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
            return (
                "No bound: by people's past loans the policy makes too many differences to compare every pair of "
                "people. The gap is exact all the same."
            )
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


def signals(repaid: Array, loans: Array, chain: PersonChain) -> dict[str, Array]:
    """What a visit brings on average, for every signal, by the probabilities of a repaid loan and of any."""
    reward = repaid * chain.reward_repaid + (loans - repaid) * chain.reward_default
    return {"reward": reward, "loans": loans, "repaid": repaid}


def view_between(
    signal: str,
    horizon: str,
    start: Float[Array, "G n"],
    value: Float[Array, "G n"],
    metric: Callable[[int, int], tuple[Float[Array, "n n"], float]],
    scores: int,
) -> View:
    """The view of people who start in one of n states with probabilities `start` and are worth `value` there.

    `metric` gives two groups' distances between these states and their error bound. The states are
    (conscientiousness, score), the score last.
    """
    totals = (start * value).sum(1)
    gaps = abs(totals[:, None] - totals)
    bounds, largest_error, plans, distances = np.zeros_like(gaps), 0.0, {}, {}
    for g, h in combinations(range(len(totals)), 2):
        distance, error = metric(g, h)
        bounds[g, h], plan = optimal_transport(distance, start[g], start[h])
        bounds[h, g], largest_error = bounds[g, h], max(largest_error, error)
        plans[g, h], distances[g, h] = plan, distance
    if not plans:
        return _view_of_one(signal, horizon, totals)
    g, h = max(plans, key=lambda pair: gaps[pair])
    plan, distance, differences = plans[g, h], distances[g, h], value[g][:, None] - value[h]
    absolute = float((plan * abs(differences)).sum())
    matched = plan > 1e-7  # less than that is the rounding of single-precision parameters
    worst = np.unravel_index(np.where(matched, distance, -1.0).argmax(), plan.shape)
    by_score = plan.reshape(-1, scores, plan.shape[1] // scores, scores).sum((0, 2))
    return View(
        signal=signal,
        horizon=horizon,
        values=totals,
        groups=(g, h),
        gap=float(gaps[g, h]),
        bound=float(bounds[g, h]),
        error_bound=float(largest_error + 1e-12 * abs(value).max()),
        pairing=by_score,
        worst_pair=(int(worst[0] % scores), int(worst[1] % scores)),
        worst_distance=float(distance[worst]),
        over_time=max(float(bounds[g, h]) - absolute, 0.0),
        between_people=max(absolute - float(gaps[g, h]), 0.0),
        gaps=gaps,
        bounds=bounds,
    )


def view_without_bound(signal: str, horizon: str, totals: Float[Array, "G"]) -> View:
    """Values and gaps alone."""
    gaps, nan = abs(totals[:, None] - totals), float("nan")
    if len(totals) == 1:
        return _view_of_one(signal, horizon, totals)
    g, h = sorted(int(i) for i in np.unravel_index(gaps.argmax(), gaps.shape))
    gap, missing = float(gaps[g, h]), np.full_like(gaps, nan)
    return View(signal, horizon, totals, (g, h), gap, nan, nan, None, None, nan, nan, nan, gaps, missing)


def _view_of_one(signal: str, horizon: str, totals: Array) -> View:
    zero = np.zeros((1, 1))
    return View(signal, horizon, totals, (0, 0), 0.0, 0.0, 0.0, None, None, 0.0, 0.0, 0.0, zero, zero)
