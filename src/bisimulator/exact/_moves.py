"""How decisions move one person's score, in loops that numba compiles.

Where a repaid loan and a default lead to one score each and the rejected stay, as on plain lending, the loops are
compiled for just that. Otherwise they go through transition matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from bisimulator.core import PersonChain, Values
from bisimulator.exact._numba import compiled
from bisimulator.exact.transport import I64


class ScoreMoves(NamedTuple):
    """The moves of one type of person; the matrices are None where `up` and `down` say everything."""

    repayment: Float[Values, "C"]  # probability of repayment
    up: Int[I64, "C"]  # where a repaid loan takes each score
    down: Int[I64, "C"]  # where a default takes it
    loans: Float[Values, "C C"] | None  # transition matrix of a loan
    rejections: Float[Values, "C C"] | None  # and of a rejection, minus the identity


def score_moves(chain: PersonChain) -> list[list[ScoreMoves]]:
    """The moves of every hidden type and group."""
    up, down = chain.repaid.targets[:, 0], chain.defaulted.targets[:, 0]
    one_target = chain.repaid.targets.shape[1] == chain.defaulted.targets.shape[1] == 1
    loans = None if one_target else chain.accepted
    rejections = None if chain.rejected_stay else chain.rejected.table - np.eye(chain.num_scores)

    def of(h: int, g: int) -> ScoreMoves:
        return ScoreMoves(
            np.ascontiguousarray(chain.repayment[h, g]),
            np.ascontiguousarray(up),
            np.ascontiguousarray(down),
            None if loans is None else loans[h, g],
            None if rejections is None else rejections[h, g],
        )

    types, groups, _ = chain.repayment.shape
    return [[of(h, g) for g in range(groups)] for h in range(types)]


@compiled
def gain_of_loan(value: Values, c: int, repayment: Values, up: I64, down: I64, loans: Values | None) -> float:
    """The expected value after a loan minus the value before it."""
    if loans is None:
        gain: float = repayment[c] * value[up[c]] + (1 - repayment[c]) * value[down[c]] - value[c]
        return gain
    total: float = -value[c]
    for d in range(len(value)):
        total += loans[c, d] * value[d]
    return total


@compiled
def gain_of_rejection(value: Values, c: int, rejections: Values | None) -> float:
    """The expected value after a rejection minus the value before it."""
    total = 0.0
    if rejections is not None:
        for d in range(len(value)):
            total += rejections[c, d] * value[d]
    return total


@compiled
def move_by_loan(
    share: Values, visit: float, c: int, repayment: Values, up: I64, down: I64, loans: Values | None
) -> None:
    """Move a share of the people at score c as a loan moves them."""
    share[c] -= visit
    if loans is None:
        share[up[c]] += visit * repayment[c]
        share[down[c]] += visit * (1 - repayment[c])
    else:
        for d in range(len(share)):
            share[d] += visit * loans[c, d]


@compiled
def move_by_rejection(share: Values, visit: float, c: int, rejections: Values | None) -> None:
    """Move a share of the people at score c as a rejection moves them."""
    if rejections is not None:
        for d in range(len(share)):
            share[d] += visit * rejections[c, d]
