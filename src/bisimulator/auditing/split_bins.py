"""Bins of scores, split where a policy's decisions change, so that its thresholds are taken as they are.

A threshold within a bin lies at some fraction of it. Every bin is split at that fraction, because a loan moves a score
by whole bins: it then leads from a part of one bin to the same part of another. Both parts repay at the rate of the
bin, so nothing but the decisions changes, and the frontier of the whole bins is that of their parts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from bisimulator.core import Env, Values

# edges -> the people of each group in these bins, counted in the data
CountPeople: TypeAlias = Callable[[Float[Values, "C+1"]], Float[Values, "G C"]]

_SAME = 1e-9  # of a bin's width


def fractions_of(points: Sequence[float], edges: Sequence[float]) -> list[float]:
    """Where the points lie within their bins, from 0 to 1; points on an edge are left out."""
    found: list[float] = []
    for point in points:
        b = min(max(int(np.searchsorted(edges, point, side="right")) - 1, 0), len(edges) - 2)
        width = edges[b + 1] - edges[b]
        fraction = (point - edges[b]) / width if width > 0 else 0.0
        if _SAME < fraction < 1 - _SAME and all(abs(fraction - other) > _SAME for other in found):
            found.append(fraction)
    return sorted(found)


def split_edges(edges: Sequence[float], fractions: Sequence[float], points: Sequence[float]) -> list[float]:
    """The edges of all parts; a point that one of them rounds to is that edge exactly."""
    parts = [0.0, *fractions]
    fine = [low + f * (high - low) for low, high in pairwise(edges) for f in parts] + [edges[-1]]
    for point in points:
        nearest = int(np.argmin(abs(np.array(fine) - point)))
        fine[nearest] = float(point)
    return fine


def split_bins(env: Env, points: Sequence[float], count_people: CountPeople | None = None) -> tuple[Env, str]:
    """The environment with all bins split so that the points are edges, and a note about it.

    Args:
        env: an environment whose scores are bins.
        points: where decisions change, within the range of the scores.
        count_people: counts the people of the data in other bins; None assumes them evenly spread within each bin.

    Returns:
        The same environment and an empty note if all points are edges already.
    """
    edges, model = env.params.score_edges, env.scenario.person_model
    fractions = fractions_of(points, edges)
    if not fractions:
        return env, ""
    if model is None or model.split_scores is None:
        raise ValueError(
            f"{', '.join(f'{point:g}' for point in points)}: the scores of {env.name!r} cannot be divided; "
            f"choose edges of its bins: {', '.join(f'{edge:g}' for edge in edges)}"
        )
    fine = split_edges(edges, fractions, points)
    if count_people is None:
        widths = np.tile(np.diff([0.0, *fractions, 1.0]), env.params.num_scores)
        initial = np.repeat(model.chain(env.params).initial, len(fractions) + 1, axis=1) * widths
        where = "people are assumed to be spread evenly within a bin"
    else:
        counts = count_people(np.array(fine))
        initial = counts / counts.sum(1, keepdims=True)
        where = "the people in each part are counted in the data"
    params = model.split_scores(env.params, initial, fine)
    inside = ", ".join(f"{point:g}" for point in dict.fromkeys(points) if fractions_of([point], edges))
    parts = len(fractions) + 1
    note = (
        f"Decisions change within a bin of scores (at {inside}). Each bin is split in {parts} parts there: "
        f"{where}; moves of scores and repayment rates are those of the whole bins."
    )
    return dataclasses.replace(env, params=params), note
