"""Scores in bins: [edge, next edge), the last one closed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from bisimulator.errors import check_array, check_int, check_known

Array = NDArray[np.float64]

BINNINGS = ("equal-width", "quantile")


def make_edges(
    scores: Float[Array, "N"],
    weights: Float[Array, "N"],
    *,
    bins: int,
    binning: str,
    edges: Any,
    score_range: tuple[float, float] | None,
    say: Callable[[str], None],
) -> Float[Array, "C+1"]:
    """The bins' edges, covering all scores; `say` hears where there are fewer bins than asked for."""
    if edges is not None:
        return check_edges(edges)
    check_int("bins", bins, min=1)
    check_known("binning", binning, BINNINGS)
    low, high = (scores.min(), scores.max()) if score_range is None else score_range
    if low == high:
        say(f"Everybody has the same score, {low:g}: there is one bin, and scores cannot move.")
        return np.array([low, low])
    if binning == "equal-width":
        return np.linspace(low, high, bins + 1)
    order = np.argsort(scores, kind="stable")
    share = weights[order].cumsum() / weights.sum()
    inner = scores[order][np.searchsorted(share, np.arange(1, bins) / bins, side="left")]
    found = np.unique(np.concatenate([[low], inner, [high]]))
    if len(found) - 1 < bins:
        say(f"Many people share a score, so there are {len(found) - 1} quantile bins instead of {bins}.")
    return found


def check_edges(edges: Any) -> Float[Array, "C+1"]:
    found = check_array("edges", edges, ndim=(1,), hint="pass rising numbers, such as (300, 500, 600, 850)")
    if len(found) < 2:
        raise ValueError(f"edges must be at least two numbers, got {found.tolist()}; one bin has two edges")
    if (np.diff(found) <= 0).any() and not (len(found) == 2 and found[0] == found[1]):
        raise ValueError(f"edges must rise, got {found.tolist()}; sort them and remove repetitions")
    return found


def count_in_bins(
    scores: Float[Array, "N"], amounts: Float[Array, "N"], edges: Float[Array, "C+1"]
) -> Float[Array, "C"]:
    """The sum of the amounts in each bin; all scores must lie within the edges."""
    bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, bins - 1)
    return np.bincount(place, amounts, minlength=bins).astype(np.float64)


def spread_over_bins(
    scores: Float[Array, "N"], amounts: Float[Array, "N"], edges: Float[Array, "C+1"]
) -> Float[Array, "C"]:
    """The same where an amount lies evenly between the score before and its own, as in a cumulative table."""
    order = np.argsort(scores, kind="stable")
    so_far = amounts[order].cumsum()
    inner = np.interp(edges[1:-1], scores[order], so_far, left=0.0)
    return np.diff(np.concatenate([[0.0], inner, so_far[-1:]]))


def labels(edges: Float[Array, "C+1"]) -> list[str]:
    """`300-350`, `350-400`, ..."""
    return [f"{low:g}-{high:g}" for low, high in pairwise(edges)]


def nearest_edge(score: float, edges: Float[Array, "C+1"]) -> int:
    """The bin from which on to accept so that it comes closest to accepting from `score` on; C: nobody."""
    known = np.asarray(edges)
    return len(known) - 1 if score > known[-1] else int(abs(known - score).argmin())
