"""Observations that may be dictionaries or tuples of arrays, as Gymnasium nests them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import numpy as np
from jaxtyping import PyTree
from numpy.typing import ArrayLike


def copy_arrays(observation: PyTree[ArrayLike]) -> PyTree[np.ndarray]:
    return _map(np.array, observation)


def add_batch_axis(observation: PyTree[ArrayLike]) -> PyTree[np.ndarray]:
    """One observation as a batch of one."""
    return _map(lambda x: np.asarray(x)[None], observation)


def stack(observations: Sequence[PyTree[ArrayLike]]) -> PyTree[np.ndarray]:
    """Single observations as one batch."""
    return _map(lambda *arrays: np.stack(arrays), *observations)


def concatenate(batches: Sequence[PyTree[ArrayLike]]) -> PyTree[np.ndarray]:
    """Batches of observations as one batch."""
    return _map(lambda *arrays: np.concatenate(arrays), *batches)


def _map(function: Callable[..., np.ndarray], *observations: PyTree[ArrayLike]) -> PyTree[np.ndarray]:
    return jax.tree.map(function, *observations, is_leaf=lambda x: not isinstance(x, dict | tuple))
