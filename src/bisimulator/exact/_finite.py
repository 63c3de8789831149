"""Finite decision processes as plain arrays: what may be passed in, and the average over a policy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from numpy.typing import NDArray

from bisimulator.errors import check_array, check_distribution, check_real, check_shape

Array = NDArray[np.float64]


def check_chain(transition: Any, reward: Any) -> tuple[sp.csr_array, Float[Array, "n"]]:
    """A Markov chain with rewards: (n, n) dense or sparse, and (n,). Rows are renormalised to sum to 1."""
    matrix = _check_rows("transition", transition)
    rewards = check_array(
        "reward", reward, ndim=(1,), hint="pass one number per state (average the policy in)"
    )
    check_shape("reward", rewards, (matrix.shape[0],), "one per state of transition")
    return matrix, rewards


def check_process(transition: Any, reward: Any) -> tuple[list[sp.csr_array], Float[Array, "A n"]]:
    """A decision process: (A, n, n) dense or A sparse (n, n) matrices, and rewards (A, n)."""
    matrices = [_check_rows(f"transition[{a}]", matrix) for a, matrix in enumerate(transition)]
    if not matrices:
        raise ValueError("transition has no actions, got 0; pass (A, n, n) with at least one action")
    rewards = check_array("reward", reward, ndim=(2,), hint="pass (A, n), one row per action")
    n = matrices[0].shape[0]
    for a, matrix in enumerate(matrices):
        if matrix.shape != (n, n):
            raise ValueError(
                f"transition[{a}] is {matrix.shape}, transition[0] {(n, n)}; give all actions the same states"
            )
    check_shape("reward", rewards, (len(matrices), n), "actions, states of transition")
    return matrices, rewards


def check_discount(gamma: Any) -> float:
    gamma = check_real("gamma", gamma)
    if not 0 <= gamma < 1:
        raise ValueError(
            f"gamma must lie in [0, 1), got {gamma:g}; the metric has no fixed point at 1: "
            "discount, or use a finite horizon (bisimulator.certify reports both)"
        )
    return gamma


def policy_average(
    transition: Any, reward: Any, policy: Any
) -> tuple[Float[Array, "n n"] | sp.csr_array, Float[Array, "n"]]:
    """tau^pi (n, n) and R^pi (n,) from transition (A, n, n), reward (A, n), policy (n, A) (Definition 2).

    Sparse matrices in, a sparse matrix out.
    """
    matrices, rewards = check_process(transition, reward)
    weights = check_distribution("policy", policy, ndim=(2,))
    check_shape("policy", weights, rewards.shape[::-1], "states, actions")
    average = sum(sp.diags_array(w) @ matrix for w, matrix in zip(weights.T, matrices, strict=True))
    dense = not any(sp.issparse(matrix) for matrix in transition)
    return (average.toarray() if dense else sp.csr_array(average)), (weights.T * rewards).sum(0)


def _check_rows(name: str, value: Any) -> sp.csr_array:
    if sp.issparse(value):
        matrix = sp.csr_array(value, dtype=np.float64)
        check_array(name, matrix.data, ndim=(1,))
    else:
        matrix = sp.csr_array(check_array(name, value, ndim=(2,), hint="pass an (n, n) matrix"))
    if matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"{name} must be square, got shape {matrix.shape}; pass (n, n) with n >= 1")
    if matrix.nnz and matrix.data.min() < 0:
        raise ValueError(f"{name} must not be negative, got {matrix.data.min():g}; pass probabilities")
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    totals = matrix.sum(1)
    worst = int(abs(totals - 1).argmax())
    if abs(totals[worst] - 1) > 1e-6:
        raise ValueError(
            f"rows of {name} must sum to 1, row {worst} sums to {totals[worst]:.4g}; "
            "did you pass counts? divide each row by its sum"
        )
    return sp.csr_array(sp.diags_array(1 / totals) @ matrix)
