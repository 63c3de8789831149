"""One optimal coupling per pair of states, kept between calls so that the next call starts from it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from bisimulator.core import Values
from bisimulator.exact import transport
from bisimulator.exact._numba import compiled, on_all_cores
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

        def start(first: int, end: int) -> None:
            transport.start_couplings(*self._pairs(first, end), self.row, self.col, self.flow)

        on_all_cores(start, len(x))

    def _pairs(self, first: int, end: int) -> tuple[I64, I64, Csr, Csr, I64]:
        """What the kernels need to know about a range of pairs."""
        pairs = slice(first, end)
        return self.x[pairs], self.y[pairs], self.left, self.right, self.start[first : end + 1]

    def improve(self, distance: Float[Values, "n1 n2"]) -> tuple[Float[Values, "pairs"], float]:
        """Make every coupling optimal for `distance`: W1 per pair, and the largest error that it can have."""
        value = np.empty(len(self.x))

        def improve(first: int, end: int) -> float:
            pairs, basis = self._pairs(first, end), (self.row, self.col, self.flow)
            return transport.improve_couplings(distance, *pairs, *basis, value[first:end])

        return value, max(on_all_cores(improve, len(value)))

    def matrix(self, pair_of: Int[I32, "n1 n2"], unknowns: int) -> sp.csr_array:
        """Omega: row p holds the probabilities with which pair p moves to the pairs numbered by `pair_of`."""
        target = np.empty(len(self.flow), np.int32)

        def fill(first: int, end: int) -> None:
            transport.coupling_targets(*self._pairs(first, end), self.row, self.col, pair_of, target)

        on_all_cores(fill, len(self.x))
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


def times(matrix: sp.csr_array, vector: Float[Values, "n"]) -> Float[Values, "n"]:
    """`matrix @ vector` on all cores."""
    product = np.empty(matrix.shape[0])

    def fill(first: int, end: int) -> None:
        rows = matrix.indptr[first : end + 1]
        _multiply(rows, matrix.indices, matrix.data, vector, product[first:end])

    on_all_cores(fill, len(product))
    return product


@compiled
def _multiply(indptr: I32, indices: I32, data: Values, vector: Values, product: Values) -> None:
    for row in range(len(product)):
        total = 0.0
        for s in range(indptr[row], indptr[row + 1]):
            total += data[s] * vector[indices[s]]
        product[row] = total
