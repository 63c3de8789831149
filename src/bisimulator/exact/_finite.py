"""Finite Markov decision processes as plain arrays: input checks, and the average over a policy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float
from numpy.typing import ArrayLike

from bisimulator.core import Values
from bisimulator.errors import check_array, check_distribution, check_real, check_shape, shown

# A transition matrix (n, n), dense or sparse; and one per action, (A, n, n) or a list of A sparse matrices.
Matrix: TypeAlias = ArrayLike | sp.sparray
Matrices: TypeAlias = Iterable[Matrix]


def check_chain(transition: Matrix, reward: ArrayLike) -> tuple[sp.csr_array, Float[Values, "n"]]:
    """A Markov chain with rewards: (n, n), dense or sparse, and (n,). Rows are renormalised to sum to 1."""
    matrix = _check_rows("transition", transition)
    rewards = check_array(
        "reward", reward, ndim=(1,), hint="pass one number per state; policy_average averages over a policy"
    )
    check_shape("reward", rewards, (matrix.shape[0],), "one per state of transition")
    return matrix, rewards


def check_process(transition: Matrices, reward: ArrayLike) -> tuple[list[sp.csr_array], Float[Values, "A n"]]:
    """A decision process: (A, n, n), dense or A sparse (n, n) matrices, and rewards (A, n)."""
    matrices = [_check_rows(f"transition[{a}]", matrix) for a, matrix in enumerate(by_action(transition))]
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


def by_action(transition: Matrices) -> list[Matrix]:
    """The matrix of each action."""
    if sp.issparse(transition) or not isinstance(transition, Iterable):
        raise TypeError(
            f"transition must be one (n, n) matrix per action, got {shown(transition)}; pass (A, n, n)"
        )
    return list(transition)


def check_discount(gamma: float) -> float:
    """A discount factor in [0, 1)."""
    gamma = check_real("gamma", gamma)
    if not 0 <= gamma < 1:
        raise ValueError(
            f"gamma must lie in [0, 1), got {gamma:g}; the metric has no fixed point at 1: "
            "pass a discount such as 0.99, or use a finite horizon (bisimulator.certify reports both)"
        )
    return gamma


def policy_average(
    transition: Matrices, reward: ArrayLike, policy: ArrayLike
) -> tuple[Float[Values, "n n"] | sp.csr_array, Float[Values, "n"]]:
    """The Markov chain that a policy makes of a decision process: tau^pi and R^pi (Definition 2).

    Args:
        transition: probabilities (A, n, n), or a list of A sparse (n, n) matrices.
        reward: expected rewards (A, n).
        policy: `pi(action | state)`, (n, A).

    Returns:
        The transition matrix (n, n), sparse if any matrix of `transition` is, and the rewards (n,).

    Example:
        >>> stay, swap = np.eye(2), np.eye(2)[::-1]
        >>> matrix, reward = policy_average([stay, swap], [[0, 0], [1, 1]], [[0.5, 0.5], [1, 0]])
        >>> matrix
        array([[0.5, 0.5],
               [0. , 1. ]])
        >>> reward
        array([0.5, 0. ])
    """
    transition = by_action(transition)
    matrices, rewards = check_process(transition, reward)
    weights = check_distribution("policy", policy, ndim=(2,))
    check_shape("policy", weights, rewards.shape[::-1], "states, actions")
    average = sum(sp.diags_array(w) @ matrix for w, matrix in zip(weights.T, matrices, strict=True))
    dense = not any(sp.issparse(matrix) for matrix in transition)
    return (average.toarray() if dense else sp.csr_array(average)), (weights.T * rewards).sum(0)


def _check_rows(name: str, value: Matrix) -> sp.csr_array:
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
