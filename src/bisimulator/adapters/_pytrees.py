"""Observations that may be dictionaries or tuples of arrays, as Gymnasium nests them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def map_arrays(function: Callable[[Any], Any], nest: Any) -> Any:
    if isinstance(nest, dict):
        return {key: map_arrays(function, value) for key, value in nest.items()}
    if isinstance(nest, tuple):
        return tuple(map_arrays(function, value) for value in nest)
    return function(nest)


def copied(nest: Any) -> Any:
    return map_arrays(np.array, nest)


def batch_of_one(nest: Any) -> Any:
    """One observation as a batch of one."""
    return map_arrays(lambda x: np.asarray(x)[None], nest)


def stacked(nests: Sequence[Any], join: Callable[[list[Any]], Any] = np.stack) -> Any:
    """Single observations as a batch; with `np.concatenate`, batches as one batch."""
    first = nests[0]
    if isinstance(first, dict):
        return {key: stacked([nest[key] for nest in nests], join) for key in first}
    if isinstance(first, tuple):
        return tuple(stacked(list(parts), join) for parts in zip(*nests, strict=True))
    return join([np.asarray(nest) for nest in nests])
