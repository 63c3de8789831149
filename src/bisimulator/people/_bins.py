"""Bins of scores: each is [edge, next edge), and the last one also includes its upper edge."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike, NDArray

from bisimulator.core import Values
from bisimulator.errors import check_array, check_int, check_known, check_real

BINNINGS = ("equal-width", "quantile")
MAX_BINS = 1_000  # rates are smoothed over all pairs of bins

Feature: TypeAlias = Float[Values, "N"] | NDArray[np.object_]  # numbers, or text


def make_edges(
    scores: Float[Values, "N"],
    weights: Float[Values, "N"],
    *,
    bins: int,
    binning: str,
    edges: ArrayLike | None,
    score_range: tuple[float, float] | None,
    add_note: Callable[[str], None],
) -> Float[Values, "C+1"]:
    """The edges of the bins, which cover all scores. `add_note` is called if there are fewer bins than requested."""
    if edges is not None:
        return check_edges(edges)
    check_int("bins", bins, min=1, max=MAX_BINS)
    check_known("binning", binning, BINNINGS)
    low, high = (scores.min(), scores.max()) if score_range is None else score_range
    if low == high:
        add_note(f"Everybody has the same score, {low:g}: there is one bin, and scores cannot move.")
        return np.array([low, low])
    if binning == "equal-width":
        return np.linspace(low, high, bins + 1)
    order = np.argsort(scores, kind="stable")
    share = weights[order].cumsum() / weights.sum()
    inner = scores[order][np.searchsorted(share, np.arange(1, bins) / bins, side="left")]
    distinct: Values = np.unique(np.concatenate([[low], inner, [high]]))
    if len(distinct) - 1 < bins:
        add_note(
            f"Many people share a score, so there are {len(distinct) - 1} quantile bins instead of {bins}."
        )
    return distinct


def check_edges(edges: ArrayLike) -> Float[Values, "C+1"]:
    """Convert to rising edges; two equal edges stand for a single score."""
    array = check_array("edges", edges, ndim=(1,), hint="pass rising numbers, such as (300, 500, 600, 850)")
    if not 2 <= len(array) <= MAX_BINS + 1:
        raise ValueError(
            f"edges must be 2 to {MAX_BINS + 1} numbers, got {len(array)} of them; one bin has two edges"
        )
    if (np.diff(array) <= 0).any() and not (len(array) == 2 and array[0] == array[1]):
        raise ValueError(f"edges must rise, got {array.tolist()}; sort them and remove duplicates")
    return array


def count_in_bins(
    scores: Float[Values, "N"], amounts: Float[Values, "N"], edges: Float[Values, "C+1"]
) -> Float[Values, "C"]:
    """The sum of the amounts in each bin; all scores must lie within the edges."""
    bins = len(edges) - 1
    index = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, bins - 1)
    return np.bincount(index, amounts, minlength=bins).astype(np.float64)


def spread_over_bins(
    scores: Float[Values, "N"], amounts: Float[Values, "N"], edges: Float[Values, "C+1"]
) -> Float[Values, "C"]:
    """The same if each amount is spread evenly from the previous score to its own, as in a cumulative table."""
    order = np.argsort(scores, kind="stable")
    cumulative = amounts[order].cumsum()
    inner = np.interp(edges[1:-1], scores[order], cumulative, left=0.0)
    return np.diff(np.concatenate([[0.0], inner, cumulative[-1:]]))


def whole_bins(points: float, edges: Float[Values, "C+1"]) -> int:
    """A move in points as a whole number of bins; see `Population.bins_of`."""
    widths = np.diff(edges)
    check_real("points", points, min=0)
    if not equally_wide(edges):
        raise ValueError(
            f"the bins are {widths.min():g} to {widths.max():g} points wide, so {points:g} points are not the same "
            "number of bins everywhere; use equal-width bins, or pass moves in bins, such as score_up=1"
        )
    bins = points / widths.mean() if widths.mean() > 0 else 0.0
    if points > 0 and bins < 0.5 and widths.mean() > 0:
        raise ValueError(
            f"{points:g} points are less than half a bin of {widths.mean():g}, so no score would ever move; "
            f"use at least {math.ceil((edges[-1] - edges[0]) / (2 * points))} bins"
        )
    return round(bins)


def equally_wide(edges: Float[Values, "C+1"]) -> bool:
    widths = np.diff(edges)
    return bool(np.ptp(widths) <= 1e-6 * widths.max())


def labels(edges: Float[Values, "C+1"]) -> list[str]:
    """`300-350`, `350-400`, ..."""
    return [f"{low:g}-{high:g}" for low, high in pairwise(edges)]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ScoredRows:
    """The rows of a table: the group and the score of each, from which people are counted in any bins."""

    groups: Int[NDArray[np.int64], "N"]
    scores: Float[Values, "N"]
    people: Float[Values, "N"]  # how many each row stands for
    num_groups: int
    cumulative: bool = False  # a row's people are spread evenly from the next lower score to its own
    features: Mapping[str, Feature] = dataclasses.field(default_factory=dict)  # further columns, by name

    def count(
        self, edges: Float[Values, "C+1"], amounts: Float[Values, "N"] | None = None
    ) -> Float[Values, "G C"]:
        """The sum of the amounts, or of the people, by group and bin."""
        to_bins = spread_over_bins if self.cumulative else count_in_bins
        amounts = self.people if amounts is None else amounts
        rows = [self.groups == g for g in range(self.num_groups)]
        return np.stack([to_bins(self.scores[own], amounts[own], edges) for own in rows])

    def bin_of(self, edges: Float[Values, "C+1"]) -> Int[NDArray[np.int64], "N"]:
        """The bin of each row's score."""
        return np.clip(np.searchsorted(edges, self.scores, side="right") - 1, 0, len(edges) - 2)

    def scores_in_bins(self, edges: Float[Values, "C+1"]) -> Float[Values, "N C"]:
        """The score of each row once it has moved to each of the bins: to the same place within it."""
        own, edge = self.bin_of(edges)[:, None], np.asarray(edges)
        if equally_wide(edge):
            return self.scores[:, None] + (edge[:-1] - edge[own])
        widths = np.diff(edge)
        within = (self.scores[:, None] - edge[own]) / widths[own]
        moved: Values = edge[:-1] + within * widths
        return np.where(np.arange(len(widths)) == own, self.scores[:, None], moved)
