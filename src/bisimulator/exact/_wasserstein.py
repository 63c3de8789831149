"""W1 of every pair of rows of two chains at once, where nothing need be kept for a next time."""

from __future__ import annotations

import numpy as np

from bisimulator.exact._numba import compiled
from bisimulator.exact.transport import north_west, pivot, workspace


@compiled
def _small_width(cost, a, b):  # type: ignore[no-untyped-def]
    """W1 where one distribution has one point, or both have two: a plan is then one number, between two ends."""
    if len(a) == 1 or len(b) == 1:
        value = 0.0
        for i in range(len(a)):
            for j in range(len(b)):
                value += a[i] * b[j] * cost[i, j]
        return value
    more_costs = cost[0, 0] + cost[1, 1] - cost[0, 1] - cost[1, 0] > 0
    kept = max(a[0] - b[1], 0.0) if more_costs else min(a[0], b[0])
    return (
        kept * cost[0, 0]
        + (a[0] - kept) * cost[0, 1]
        + (b[0] - kept) * cost[1, 0]
        + max(b[1] - a[0] + kept, 0.0) * cost[1, 1]
    )


@compiled
def all_widths(distance, left, right):  # type: ignore[no-untyped-def]
    """W1 of every row of `left` and every row of `right` under each of the costs distance[s], nothing kept.

    Returns W1 (s, rows, rows) and the worst violation per s. One basis serves all costs of a pair in turn.
    """
    costs, n1, n2 = distance.shape[0], len(left[0]) - 1, len(right[0]) - 1
    most_m, most_k = np.diff(left[0]).max(), np.diff(right[0]).max()
    work, cost = workspace(most_m, most_k), np.empty((most_m, most_k))
    row, col = np.empty(most_m + most_k, np.int32), np.empty(most_m + most_k, np.int32)
    flow = np.empty(most_m + most_k)
    value, worst = np.empty((costs, n1, n2)), np.zeros(costs)
    for x in range(n1):
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
                    value[s, x, y] = _small_width(cost, a, b)
                else:
                    value[s, x, y], violation = pivot(cost, m, k, row, col, flow, work)
                    worst[s] = max(worst[s], violation)
    return value, worst
