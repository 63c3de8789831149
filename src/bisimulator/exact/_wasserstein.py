"""Wasserstein distances of all pairs of rows of two chains at once, without keeping the couplings."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from bisimulator.core import Values
from bisimulator.exact._numba import compiled, on_all_cores
from bisimulator.exact.transport import Csr, north_west, pivot, workspace


@compiled
def _small_wasserstein(cost: Values, a: Values, b: Values) -> float:
    """W1 where one distribution has one point, or both have two: a plan then has one degree of freedom."""
    if len(a) == 1 or len(b) == 1:
        value = 0.0
        for i in range(len(a)):
            for j in range(len(b)):
                value += a[i] * b[j] * cost[i, j]
        return value
    # the flow from the first point to the first point: as small or as large as the marginals allow
    expensive = cost[0, 0] + cost[1, 1] - cost[0, 1] - cost[1, 0] > 0
    flow = max(a[0] - b[1], 0.0) if expensive else min(a[0], b[0])
    total: float = (
        flow * cost[0, 0]
        + (a[0] - flow) * cost[0, 1]
        + (b[0] - flow) * cost[1, 0]
        + max(b[1] - a[0] + flow, 0.0) * cost[1, 1]
    )
    return total


def pairwise_wasserstein(
    distance: Float[Values, "s n1 n2"], left: Csr, right: Csr
) -> tuple[Float[Values, "s rows1 rows2"], Float[Values, "s"]]:
    """W1 of every row of `left` and every row of `right` under each of the costs `distance[s]`.

    Also returns the largest violation (see `pivot`) per cost.
    """
    rows, columns = len(left[0]) - 1, len(right[0]) - 1
    value = np.empty((len(distance), rows, columns))

    def fill(first: int, end: int) -> Values:
        return _fill_rows(distance, left, right, value, first, end)

    worst: Values = np.max(on_all_cores(fill, rows, each=columns), axis=0)
    return value, worst


@compiled
def _fill_rows(
    distance: Float[Values, "s n1 n2"], left: Csr, right: Csr, value: Values, first: int, end: int
) -> Float[Values, "s"]:
    """Fill some rows of the result; all costs of a pair share one basis in turn."""
    costs, n2 = distance.shape[0], len(right[0]) - 1
    max_m, max_k = np.diff(left[0]).max(), np.diff(right[0]).max()
    work, cost = workspace(max_m, max_k), np.empty((max_m, max_k))
    row, col = np.empty(max_m + max_k, np.int32), np.empty(max_m + max_k, np.int32)
    flow, worst = np.empty(max_m + max_k), np.zeros(costs)
    for x in range(first, end):
        rows, a = left[1][left[0][x] : left[0][x + 1]], left[2][left[0][x] : left[0][x + 1]]
        for y in range(n2):
            cols, b = right[1][right[0][y] : right[0][y + 1]], right[2][right[0][y] : right[0][y + 1]]
            m, k = len(rows), len(cols)
            small = m == 1 or k == 1 or m + k == 4
            if not small:
                north_west(a, b, row, col, flow)
            for s in range(costs):
                for i in range(m):
                    for j in range(k):
                        cost[i, j] = distance[s, rows[i], cols[j]]
                if small:
                    value[s, x, y] = _small_wasserstein(cost, a, b)
                else:
                    value[s, x, y], violation = pivot(cost, m, k, row, col, flow, work)
                    worst[s] = max(worst[s], violation)
    return worst
