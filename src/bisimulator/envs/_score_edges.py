"""The edges of bins of scores, which are only displayed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bisimulator.errors import check_array, check_shape


def check_edges(edges: Sequence[float], c_max: int) -> tuple[float, ...]:
    array = check_array("score_edges", edges, ndim=(1,))
    if array.size == 0:
        return ()
    check_shape("score_edges", array, (c_max + 1,), "one more than scores")
    if (np.diff(array) < 0).any():
        raise ValueError(f"score_edges must rise, got {array.tolist()}; sort them")
    return tuple(array.tolist())
