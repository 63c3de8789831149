"""The bisimulation relation of a finite process by partition refinement (Definitions 1, 2 and 6)."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from numpy.typing import NDArray

from bisimulator.errors import check_real
from bisimulator.exact._finite import check_chain, check_process


def bisimulation_relation(transition: Any, reward: Any, tol: float = 1e-9) -> Int[NDArray, "n"]:
    """The class of every state in the coarsest bisimulation: same number, bisimilar.

    (n, n) and (n,), the policy averaged in, give pi-bisimulation; (A, n, n) and (A, n) bisimulation under all
    actions. Rewards and probabilities of reaching a class count as equal when neighbours in their sorted order
    differ by at most `tol`. States of two groups may share a class: then they fare alike whatever happens.
    """
    if np.ndim(reward) == 1:
        matrix, rewards = check_chain(transition, reward)
        matrices, rewards = [matrix], rewards[None]
    else:
        matrices, rewards = check_process(transition, reward)
    tol = check_real("tol", tol, min=0)
    labels = _classes(rewards.T, tol)
    while True:
        into = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
        signature = [labels[:, None], *((matrix @ into).toarray() for matrix in matrices)]
        refined = _classes(np.concatenate(signature, axis=1), tol)
        if refined.max() == labels.max():
            return labels
        labels = refined


def _classes(signature: Float[NDArray, "n k"], tol: float) -> Int[NDArray, "n"]:
    """Numbers 0, 1, ... of the distinct rows, in order of first appearance."""
    order = signature.argsort(0)
    ascending = np.take_along_axis(signature, order, 0)
    steps = np.diff(ascending, axis=0, prepend=ascending[:1])
    level = np.empty(signature.shape, np.int64)
    np.put_along_axis(level, order, (steps > tol).cumsum(0), 0)
    _, first, inverse = np.unique(level, axis=0, return_index=True, return_inverse=True)
    return first.argsort().argsort()[inverse.ravel()]
