"""What a certificate contains: every group's value, their gap, the bound on it, and why the two differ."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np
from jaxtyping import Float

from bisimulator._html import html_table
from bisimulator.core import PersonChain, Values
from bisimulator.errors import check_known
from bisimulator.exact.transport import optimal_transport

SIGNALS = {"reward": "the bank's reward", "loans": "loans", "repaid": "repaid loans"}
HORIZONS = {"discounted": "discounted per visit", "episode": "over an episode"}
_MAX_PRINTED = 6  # groups
_MAX_PAIRS = (
    1000  # of groups that are bounded, which is 45 groups; of more groups only the pair with the largest gap
)


def _number(value: float) -> str:
    """Four digits; rounding errors print as 0."""
    return f"{round(float(value), 9):.4g}"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class CertificateEntry:
    """One signal over one horizon: its expected sum per person of each group, and the most unequal pair of groups."""

    signal: str
    horizon: str
    values: Float[Values, "G"]  # J(g), expected sum per person
    groups: tuple[int, int]  # the two groups with the largest gap
    gap: float
    bound: float  # W1(d) of these two groups, or at most `bound_width` more; NaN where there is none
    bound_width: float  # 0 if `bound` is W1(d) itself
    error_bound: float  # gaps <= bounds + error_bound is proven, rounding included
    pairing: Float[Values, "C C"] | None  # the optimal pairing of their scores at the start
    worst_pair: tuple[int, int] | None  # paired scores whose futures differ most
    worst_distance: float
    over_time: float  # what cancels within a pair, between better and worse times
    between_people: float  # what cancels between pairs, some favouring one group and some the other
    gaps: Float[Values, "G G"]
    bounds: Float[Values, "G G"]  # of more than 45 groups NaN, but for `groups`

    @property
    def slack(self) -> float:
        """Bound minus gap."""
        return self.bound - self.gap

    @property
    def explanation(self) -> str:
        """Why gap and bound differ, or why they do not, in words."""
        if len(self.values) == 1:
            return "There is only one group, so there is nothing to compare."
        if np.isnan(self.bound):
            return (
                "No bound: the policy tells too many people apart, by other columns of the data, to compare every "
                "pair. The gap is still exact."
            )
        if self.bound <= 1e-9:
            return "The groups fare exactly alike: matched people have the same future in every respect."
        return f"{self._comparison}{self._precision}"

    @property
    def _comparison(self) -> str:
        if self.slack <= 0.01 * self.bound:
            return (
                "Tight: matched people differ in one direction only, so the gap shows all of the difference."
            )
        return (
            f"Fairness by compensation: matched people differ by {self.bound:.2f} on average, of which the groups' "
            f"averages show {self.gap:.2f}; {self.over_time:.2f} cancels over time within a pair (better now, worse "
            f"later) and {self.between_people:.2f} between pairs (some favour one group, some the other)."
        )

    @property
    def _precision(self) -> str:
        """How far the bound may be from W1(d), and why; empty if it is W1(d)."""
        if not self.bound_width:
            return ""
        return (
            f" The bound is proven, but up to {_number(self.bound_width)} larger than the smallest one, because rare "
            "histories of loans were compared as similar ones. The gap is exact."
        )

    @property
    def _bound_text(self) -> str:
        within = f" (up to {_number(self.bound_width)} too large)" if self.bound_width else ""
        return f"bound {_number(self.bound)}{within}"

    @property
    def _title(self) -> str:
        return f"{SIGNALS[self.signal]}, {HORIZONS[self.horizon]}"

    def __repr__(self) -> str:
        values = ", ".join(_number(value) for value in self.values[:_MAX_PRINTED])
        more = f", ... ({len(self.values)} groups)" if len(self.values) > _MAX_PRINTED else ""
        gap = f"gap {_number(self.gap)}"
        return f"CertificateEntry({self._title}: values {values}{more}, {gap}, {self._bound_text})"

    def _repr_html_(self) -> str:
        rows = [(f"value of group {g + 1}", _number(value)) for g, value in enumerate(self.values)]
        rows += [("gap", _number(self.gap)), ("bound", _number(self.bound)), ("slack", _number(self.slack))]
        return html_table(self._title, (), rows, self.explanation)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """All entries of one policy; `values`, `gap`, `bound`, `slack` and `explanation` are those of the first."""

    env: str
    gamma: float  # per visit of a person; NaN if there is no discounted entry
    entries: Mapping[tuple[str, str], CertificateEntry]  # by (signal, horizon)
    group_names: tuple[str, ...]
    exact: bool = True

    def entry(self, signal: str = "reward", horizon: str = "discounted") -> CertificateEntry:
        """The entry of a signal ("reward", "loans" or "repaid") over a horizon ("discounted" or "episode").

        Raises:
            ValueError: if the name is unknown, or this certificate does not have the entry.
        """
        check_known("signal", signal, SIGNALS)
        check_known("horizon", horizon, HORIZONS)
        if (signal, horizon) not in self.entries:
            known = ", ".join(f"entry{key}" for key in sorted(self.entries))
            raise ValueError(f"this certificate has no {horizon} entry; it has {known}")
        return self.entries[signal, horizon]

    @property
    def main(self) -> CertificateEntry:
        """The first entry: the bank's reward, discounted if the certificate has that."""
        return next(iter(self.entries.values()))

    @property
    def values(self) -> Float[Values, "G"]:
        """J(g) of every group."""
        return self.main.values

    @property
    def gap(self) -> float:
        """The demographic-parity gap of the two groups that differ most."""
        return self.main.gap

    @property
    def bound(self) -> float:
        """What bounds the gap: W1(d) of the two groups."""
        return self.main.bound

    @property
    def slack(self) -> float:
        """Bound minus gap."""
        return self.main.slack

    @property
    def explanation(self) -> str:
        """Why gap and bound differ, or why they do not, in words."""
        return self.main.explanation

    @property
    def _title(self) -> str:
        return f"Certificate for {self.env}: exact"

    def __repr__(self) -> str:
        lines = [
            f"  {entry._title}: gap {_number(entry.gap)}, {entry._bound_text}"
            for entry in self.entries.values()
        ]
        return "\n".join([self._title, *lines, f"  {self.explanation}"])

    def _repr_html_(self) -> str:
        head = ("per person", *(f"group {name}" for name in self.group_names), "gap", "bound")
        rows = [
            (entry._title, *(_number(number) for number in (*entry.values, entry.gap, entry.bound)))
            for entry in self.entries.values()
        ]
        return html_table(self._title, head, rows, self.explanation)


def signals(repaid: Values, loans: Values, chain: PersonChain) -> dict[str, Values]:
    """The expected signals of a visit, from the probabilities of a repaid loan and of any loan."""
    reward = repaid * chain.reward_repaid + (loans - repaid) * chain.reward_default
    return {"reward": reward, "loans": loans, "repaid": repaid}


def widest_pair(totals: Float[Values, "G"]) -> tuple[int, int]:
    """The two groups with the largest gap."""
    g, h = sorted((int(totals.argmin()), int(totals.argmax())))
    return (g, h) if g < h else (0, 1)


def pairs_to_bound(totals: Float[Values, "G"]) -> list[tuple[int, int]]:
    """All pairs of groups; of many groups, only the one with the largest gap."""
    pairs = len(totals) * (len(totals) - 1) // 2
    return [widest_pair(totals)] if pairs > _MAX_PAIRS else list(combinations(range(len(totals)), 2))


def entry_with_bound(
    signal: str,
    horizon: str,
    start: Float[Values, "G n"],
    value: Float[Values, "G n"],
    metric: Callable[[int, int], tuple[Float[Values, "n n"], float]],
    scores: int,
    widths: Float[Values, "G G"] | None = None,
) -> CertificateEntry:
    """The entry of people who start in one of n states with probabilities `start` and have `value` from there.

    `metric(g, h)` returns the distances between the states of two groups, or bounds that exceed the W1 of the groups by
    at most `widths`, and the error of their computation. The states are (conscientiousness, score), the score last.
    """
    totals = (start * value).sum(1)
    if len(totals) == 1:
        return _entry_of_one_group(signal, horizon, totals)
    gaps, widest, pairs = abs(totals[:, None] - totals), widest_pair(totals), pairs_to_bound(totals)
    bounds, max_error = np.where(np.eye(len(totals), dtype=bool), 0.0, np.nan), 0.0
    for g, h in pairs:
        found, error = metric(g, h)
        bounds[g, h], transport = optimal_transport(found, start[g], start[h])
        bounds[h, g], max_error = bounds[g, h], max(max_error, error)
        if (g, h) == widest:
            plan, distance = transport, found
    g, h = widest
    differences = value[g][:, None] - value[h]
    absolute = float((plan * abs(differences)).sum())
    matched = plan > 1e-7  # less is rounding of single-precision parameters
    worst = np.unravel_index(np.where(matched, distance, -1.0).argmax(), plan.shape)
    by_score = plan.reshape(-1, scores, plan.shape[1] // scores, scores).sum((0, 2))
    return CertificateEntry(
        signal=signal,
        horizon=horizon,
        values=totals,
        groups=(g, h),
        gap=float(gaps[g, h]),
        bound=float(bounds[g, h]),
        bound_width=0.0 if widths is None else float(widths[g, h]),
        error_bound=float(max_error + 1e-12 * abs(value).max()),
        pairing=by_score,
        worst_pair=(int(worst[0] % scores), int(worst[1] % scores)),
        worst_distance=float(distance[worst]),
        over_time=max(float(bounds[g, h]) - absolute, 0.0),
        between_people=max(absolute - float(gaps[g, h]), 0.0),
        gaps=gaps,
        bounds=bounds,
    )


def entry_without_bound(signal: str, horizon: str, totals: Float[Values, "G"]) -> CertificateEntry:
    """The entry with values and gaps only."""
    gaps, nan = abs(totals[:, None] - totals), float("nan")
    if len(totals) == 1:
        return _entry_of_one_group(signal, horizon, totals)
    g, h = widest_pair(totals)
    gap, no_bounds = float(gaps[g, h]), np.full_like(gaps, nan)
    return CertificateEntry(
        signal, horizon, totals, (g, h), gap, nan, nan, nan, None, None, nan, nan, nan, gaps, no_bounds
    )


def _entry_of_one_group(signal: str, horizon: str, totals: Float[Values, "1"]) -> CertificateEntry:
    zero = np.zeros((1, 1))
    return CertificateEntry(
        signal, horizon, totals, (0, 0), 0.0, 0.0, 0.0, 0.0, None, None, 0.0, 0.0, 0.0, zero, zero
    )
