"""The bisimulation relation of a finite process by partition refinement (Definitions 1, 2 and 6)."""

from __future__ import annotations

from typing import cast

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from bisimulator.core import Values
from bisimulator.errors import check_array, check_real
from bisimulator.exact._finite import Matrices, Matrix, check_chain, check_process
from bisimulator.exact.transport import I64


def bisimulation_relation(
    transition: Matrix | Matrices, reward: ArrayLike, tol: float = 1e-9
) -> Int[I64, "n"]:
    """The class of every state in the coarsest bisimulation: states with the same number are bisimilar.

    States of two groups may share a class: then they have the same future whatever happens.

    Args:
        transition: (n, n) for pi-bisimulation, with the policy averaged in (`policy_average`); (A, n, n) for
            bisimulation under all actions. Dense or sparse.
        reward: (n,) or (A, n) accordingly.
        tol: rewards, and probabilities of reaching a class, count as equal if neighbours in their sorted order
            differ by at most this.

    Returns:
        One number per state, from 0 in order of first appearance.

    Example:
        >>> bisimulation_relation([[0.5, 0.5, 0], [0, 1, 0], [0, 0, 1]], reward=[0, 1, 1])
        array([0, 1, 1])
    """
    reward = check_array("reward", reward, ndim=(1, 2), hint="pass one number per state")
    if reward.ndim == 1:
        matrix, chain_rewards = check_chain(cast(Matrix, transition), reward)
        matrices, rewards = [matrix], chain_rewards[None]
    else:
        matrices, rewards = check_process(cast(Matrices, transition), reward)
    tol = check_real("tol", tol, min=0)
    labels = _classes(rewards.T, tol)
    while True:
        into = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
        signature = [labels[:, None], *((matrix @ into).toarray() for matrix in matrices)]
        refined = _classes(np.concatenate(signature, axis=1), tol)
        if refined.max() == labels.max():
            return labels
        labels = refined


def _classes(signature: Float[Values, "n k"], tol: float) -> Int[I64, "n"]:
    """Numbers 0, 1, ... of the distinct rows, in order of first appearance."""
    order = signature.argsort(0)
    ascending = np.take_along_axis(signature, order, 0)
    steps = np.diff(ascending, axis=0, prepend=ascending[:1])
    level = np.empty(signature.shape, np.int64)
    np.put_along_axis(level, order, (steps > tol).cumsum(0), 0)
    _, first, inverse = np.unique(level, axis=0, return_index=True, return_inverse=True)
    return first.argsort().argsort()[inverse.ravel()]
