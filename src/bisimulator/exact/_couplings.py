"""One optimal coupling per pair of states, kept between calls so that the next call starts from it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from bisimulator.core import Values
from bisimulator.exact import transport
from bisimulator.exact.transport import I32, I64, Csr


class Couplings:
    """Couplings of the next-state distributions of the pairs (x[p], y[p]) of two chains.

    `left` and `right` are the chains' transition matrices. The order of the entries in a row is the order in
    which the north-west-corner rule pairs them at the start.
    """

    left: Csr
    right: Csr

    def __init__(
        self, left: sp.csr_array, right: sp.csr_array, x: Int[I64, "pairs"], y: Int[I64, "pairs"]
    ) -> None:
        self.left, self.right = _csr(left), _csr(right)
        self.x, self.y = x, y
        self.shape = (left.shape[0], right.shape[0])
        sizes = np.diff(left.indptr)[x] + np.diff(right.indptr)[y] - 1
        self.start = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        cells = int(self.start[-1])
        self.row, self.col, self.flow = np.empty(cells, np.int32), np.empty(cells, np.int32), np.empty(cells)
        transport.start_couplings(x, y, self.left, self.right, self.start, self.row, self.col, self.flow)

    def improve(self, distance: Float[Values, "n1 n2"]) -> tuple[Float[Values, "pairs"], float]:
        """Make every coupling optimal for `distance`: W1 per pair, and the largest error that it can have."""
        value = np.empty(len(self.x))
        violation = transport.improve_couplings(
            distance, self.x, self.y, self.left, self.right, self.start, self.row, self.col, self.flow, value
        )
        return value, violation

    def matrix(self, pair_of: Int[I32, "n1 n2"], unknowns: int) -> sp.csr_array:
        """Omega: row p holds the probabilities with which pair p moves to the pairs numbered by `pair_of`."""
        target = np.empty(len(self.flow), np.int32)
        transport.coupling_targets(
            self.x, self.y, self.left, self.right, self.start, self.row, self.col, pair_of, target
        )
        indptr = np.append(self.start, [self.start[-1]] * (unknowns - len(self.x)))
        return sp.csr_array((self.flow, target, indptr), shape=(unknowns, unknowns))

    def plan(self, p: int) -> Float[Values, "n1 n2"]:
        """The joint distribution of the next states of pair p."""
        plan = np.zeros(self.shape)
        cells = slice(self.start[p], self.start[p + 1])
        rows = self.left[1][self.left[0][self.x[p]] + self.row[cells]]
        cols = self.right[1][self.right[0][self.y[p]] + self.col[cells]]
        plan[rows, cols] = self.flow[cells]
        return plan


def _csr(matrix: sp.csr_array) -> Csr:
    # one integer type, so that the kernels are compiled once
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data


def order_rows(matrix: sp.csr_array, rank: Float[Values, "n"]) -> sp.csr_array:
    """The same matrix with the entries of every row in ascending order of `rank` of their state."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((rank[matrix.indices], rows))
    return sp.csr_array((matrix.data[order], matrix.indices[order], matrix.indptr), shape=matrix.shape)
