"""Tables of moves: the distribution of the next credit score after each outcome."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike, NDArray

from bisimulator.core import Values
from bisimulator.errors import check_distribution, check_shape


def shifted(up: int, down: int, scores: int) -> Int[NDArray[np.int64], "2 C"]:
    """Where a default and a repaid loan take each score, within the range of scores."""
    start = np.arange(scores)
    return np.stack([np.maximum(start - down, 0), np.minimum(start + up, scores - 1)])


def check_moves(
    moves: ArrayLike | None, shifts: tuple[int, int], rejected_move: bool, scores: int
) -> Float[Values, "2 C C"] | None:
    """The tables of moves after a default and a repaid loan; None if the plain shifts say everything."""
    if moves is None:
        return np.eye(scores)[shifted(*shifts, scores)] if rejected_move else None
    if shifts != (1, 1):
        raise ValueError(
            f"with moves, score_up and score_down must be left out, got {shifts[0]} and {shifts[1]}; "
            "pass either moves or the other two"
        )
    tables = check_distribution("moves", moves, ndim=(3,))
    check_shape("moves", tables, (2, scores, scores), "default and repaid x score x next score")
    return tables


def whole_sizes(shares: Float[Values, "G"], people: int) -> Float[Values, "G"]:
    """The groups' shares of the people as whole numbers: rounded down, the rest to the largest remainders."""
    sizes = np.floor(shares * people + 1e-9)
    largest = np.argsort(sizes - shares * people, kind="stable")
    sizes[largest[: people - int(sizes.sum())]] += 1
    return sizes
