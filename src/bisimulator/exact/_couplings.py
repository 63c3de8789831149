"""One optimal coupling for every pair of states, kept between calls so that the next call starts from it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int
from numpy.typing import NDArray

from bisimulator.exact import transport

Array = NDArray[np.float64]


class Couplings:
    """Couplings of the next-state distributions of the pairs (x[p], y[p]) of two chains.

    `left` and `right` are the chains' transition matrices; the order of the entries in a row is the order in
    which the north-west-corner rule pairs them at the start.
    """

    def __init__(
        self, left: sp.csr_array, right: sp.csr_array, x: Int[NDArray, "pairs"], y: Int[NDArray, "pairs"]
    ) -> None:
        # one integer type, so that the kernels are compiled once
        self.left, self.right = (
            (m.indptr.astype(np.int32), m.indices.astype(np.int32), m.data) for m in (left, right)
        )
        self.x, self.y = x, y
        self.shape = (left.shape[0], right.shape[0])
        sizes = np.diff(left.indptr)[x] + np.diff(right.indptr)[y] - 1
        self.start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        cells = int(self.start[-1])
        self.row, self.col, self.flow = np.empty(cells, np.int32), np.empty(cells, np.int32), np.empty(cells)
        transport.start_couplings(x, y, self.left, self.right, self.start, self.row, self.col, self.flow)

    def improve(self, distance: Float[Array, "n1 n2"]) -> tuple[Float[Array, "pairs"], float]:
        """Make every coupling optimal for `distance`: W1 per pair, and by how much it can be too large."""
        value = np.empty(len(self.x))
        violation = transport.improve_couplings(
            distance, self.x, self.y, self.left, self.right, self.start, self.row, self.col, self.flow, value
        )
        return value, violation

    def matrix(self, pair_of: Int[NDArray, "n1 n2"], unknowns: int) -> sp.csr_array:
        """Omega: row p holds the probabilities with which pair p moves on to the pairs numbered by pair_of."""
        target = np.empty(len(self.flow), np.int32)
        transport.coupling_targets(
            self.x, self.y, self.left, self.right, self.start, self.row, self.col, pair_of, target
        )
        indptr = np.append(self.start, [self.start[-1]] * (unknowns - len(self.x)))
        return sp.csr_array((self.flow, target, indptr), shape=(unknowns, unknowns))

    def plan(self, p: int) -> Float[Array, "n1 n2"]:
        """The joint distribution of the next states of pair p."""
        plan = np.zeros(self.shape)
        cells = slice(self.start[p], self.start[p + 1])
        rows = self.left[1][self.left[0][self.x[p]] + self.row[cells]]
        cols = self.right[1][self.right[0][self.y[p]] + self.col[cells]]
        plan[rows, cols] = self.flow[cells]
        return plan


def order_rows(matrix: sp.csr_array, rank: Float[Array, "n"]) -> sp.csr_array:
    """The same matrix with every row's entries in ascending order of `rank` of their state."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((rank[matrix.indices], rows))
    return sp.csr_array((matrix.data[order], matrix.indices[order], matrix.indptr), shape=matrix.shape)
