"""Checks of what is only displayed: names of groups, and the edges of bins of scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from bisimulator.errors import check_array, check_shape


def check_names(names: Sequence[str], groups: int) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ValueError(f"group_names must be a list of names, got {names!r}; pass names such as ('a', 'b')")
    checked = tuple(names)
    if checked and (len(checked) != groups or not all(isinstance(name, str) for name in checked)):
        example = tuple(f"group {g + 1}" for g in range(groups))
        raise ValueError(
            f"group_names must be {groups} names, one per group, got {names!r}; pass names such as {example}"
        )
    if len(set(checked)) < len(checked):
        raise ValueError(f"group_names must differ, got {names!r}; rename one of them")
    return checked


def check_edges(edges: Sequence[float], c_max: int) -> tuple[float, ...]:
    array = check_array("score_edges", edges, ndim=(1,))
    if array.size == 0:
        return ()
    check_shape("score_edges", array, (c_max + 1,), "one more than scores")
    if (np.diff(array) < 0).any():
        raise ValueError(f"score_edges must rise, got {array.tolist()}; sort them")
    return tuple(array.tolist())
