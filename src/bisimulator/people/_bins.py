"""Bins of scores: each is [edge, next edge), and the last one also includes its upper edge."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bisimulator.core import Values
from bisimulator.errors import check_array, check_int, check_known

BINNINGS = ("equal-width", "quantile")


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
    check_int("bins", bins, min=1)
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
    if len(array) < 2:
        raise ValueError(f"edges must be at least two numbers, got {array.tolist()}; one bin has two edges")
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


def labels(edges: Float[Values, "C+1"]) -> list[str]:
    """`300-350`, `350-400`, ..."""
    return [f"{low:g}-{high:g}" for low, high in pairwise(edges)]


def nearest_edge(score: float, edges: Float[Values, "C+1"]) -> int:
    """The lowest accepted bin of the policy that comes closest to accepting from `score` on; C accepts nobody."""
    edges = np.asarray(edges)
    return len(edges) - 1 if score > edges[-1] else int(abs(edges - score).argmin())
