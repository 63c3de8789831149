"""Contact networks: who is in contact with whom, from pairs of people."""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources

import numpy as np
from jaxtyping import Bool
from numpy.typing import ArrayLike

from bisimulator.core.graphs import Flags
from bisimulator.errors import check_array, check_int, shown

MAX_PEOPLE = 10_000


@cache
def karate_club() -> tuple[tuple[int, int], ...]:
    """The 78 friendships of Zachary's karate club (1977), between people numbered from 0."""
    text = resources.files("bisimulator").joinpath("data/karate_club.csv").read_text(encoding="utf-8")
    return tuple((int(row["person"]), int(row["friend"])) for row in csv.DictReader(text.splitlines()))


def adjacency_matrix(edges: ArrayLike) -> Bool[Flags, "N N"]:
    """Who is in contact with whom; people are numbered from 0 to the largest number in `edges`."""
    pairs = check_array("edges", edges, ndim=(2,), hint="pass pairs of people, such as [(0, 1), (1, 2)]")
    if pairs.shape[0] == 0 or pairs.shape[1] != 2 or (pairs != np.floor(pairs)).any() or pairs.min() < 0:
        raise ValueError(
            f"edges must be pairs of people numbered from 0, got {shown(edges)}; pass edges such as [(0, 1), (1, 2)]"
        )
    people = check_int("the number of people in edges", int(pairs.max()) + 1, min=1, max=MAX_PEOPLE)
    matrix = np.zeros((people, people), np.bool_)
    one, other = pairs.astype(np.int64).T
    matrix[one, other] = matrix[other, one] = True
    np.fill_diagonal(matrix, False)
    return matrix
