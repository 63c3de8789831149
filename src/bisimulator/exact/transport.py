"""Optimal transport on small supports: a transportation simplex that starts from where it stopped last time.

In a bisimulation metric the marginals of a pair's transport problem never change, only its costs do. The
old basis therefore stays feasible, and a few pivots (most often none) repair it.

A basis is a spanning tree of m + k - 1 cells (row, col) with their flows. Reduced costs bound how far a plan
is from optimal (weak duality, total mass 1), so every answer carries a proof of its own error: `violation`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bisimulator.errors import check_array, check_distribution, check_shape
from bisimulator.exact._numba import compiled

# A reduced cost below this fraction of the largest cost is rounding, not a better plan.
_NOISE = 1e-15
# Price at least so many cells before a pivot: all of a small problem, a part of a large one.
_BLOCK = 128


def optimal_transport(cost: Any, source: Any, target: Any) -> tuple[float, NDArray[np.float64]]:
    """W1 of two distributions under `cost` (m, k), and a plan (m, k) that attains it."""
    cost = check_array("cost", cost, ndim=(2,), hint="pass a matrix of costs")
    source = check_distribution("source", source)
    target = check_distribution("target", target)
    check_shape("cost", cost, (len(source), len(target)), "source entries, target entries")
    rows, cols = np.flatnonzero(source), np.flatnonzero(target)
    a, b = source[rows] / source.sum(), target[cols] / target.sum()
    small = np.ascontiguousarray(cost[np.ix_(rows, cols)])
    row, col, flow = _empty_basis(len(a) + len(b) - 1)
    north_west(a, b, row, col, flow)
    work = workspace(len(a), len(b))
    value, _ = pivot(small, len(a), len(b), row, col, flow, work)
    plan = np.zeros_like(cost)
    plan[rows[row], cols[col]] = flow
    return float(value), plan


def _empty_basis(cells: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    return np.empty(cells, np.int32), np.empty(cells, np.int32), np.empty(cells)


@compiled
def workspace(m, k):  # type: ignore[no-untyped-def]
    """Scratch for one problem: head, link, parent, via, order, dual."""
    nodes = m + k
    return (
        np.empty(nodes, np.int64),
        np.empty(2 * nodes, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes, np.int64),
        np.empty(nodes),
    )


@compiled
def north_west(a, b, row, col, flow):  # type: ignore[no-untyped-def]
    """A first basis: pair the supports in order. Optimal when cost is |V_i - V_j| and both are sorted by V."""
    m, k = len(a), len(b)
    i, j, left, right = 0, 0, a[0], b[0]
    for s in range(m + k - 1):
        row[s], col[s] = i, j
        if j == k - 1 or (i < m - 1 and left <= right):
            flow[s] = left
            right = max(right - left, 0.0)
            i += 1
            left = a[min(i, m - 1)]
        else:
            flow[s] = right
            left = max(left - right, 0.0)
            j += 1
            right = b[j]


@compiled
def _root_tree(cost, m, k, row, col, work):  # type: ignore[no-untyped-def]
    """Parents and dual prices of the basis tree, from row node 0 outwards (columns are nodes m and up)."""
    head, link, parent, via, order, dual = work
    head[: m + k] = -1
    for s in range(m + k - 1):
        i, j = row[s], m + col[s]
        link[2 * s], head[i] = head[i], 2 * s
        link[2 * s + 1], head[j] = head[j], 2 * s + 1
    parent[0], via[0], order[0], dual[0] = -1, -1, 0, 0.0
    seen = 1
    for position in range(m + k):
        node = order[position]
        edge = head[node]
        while edge >= 0:
            s = edge // 2
            i, j = row[s], m + col[s]
            other = j if node == i else i
            if s != via[node]:
                parent[other], via[other] = node, s
                dual[other] = cost[i, j - m] - dual[node]
                order[seen] = other
                seen += 1
            edge = link[edge]


@compiled
def _entering(cost, m, k, dual, tolerance, first_row, block):  # type: ignore[no-untyped-def]
    """The most negative reduced cost among at least `block` cells from `first_row` on: its cell and its size.

    When no cell qualifies all have been seen, and the size is that of the whole problem.
    """
    best, at_i, at_j, seen = 0.0, -1, -1, 0
    for offset in range(m):
        i = (first_row + offset) % m
        for j in range(k):
            reduced = cost[i, j] - dual[i] - dual[m + j]
            if reduced < best:
                best = reduced
                if reduced < -tolerance:
                    at_i, at_j = i, j
            seen += 1
            if at_i >= 0 and seen >= block:
                return at_i, at_j, best
    return at_i, at_j, best


@compiled
def _push(m, k, row, col, flow, i, j, work):  # type: ignore[no-untyped-def]
    """Let cell (i, j) enter: shift flow round its cycle until a cell is empty, which leaves. The shift."""
    parent, via, order = work[2], work[3], work[4]
    depth = work[0]  # the list heads are no longer needed
    for position in range(m + k):
        node = order[position]
        depth[node] = 0 if parent[node] < 0 else depth[parent[node]] + 1
    shift, leaving, leaving_cell = np.inf, -1, -1
    for dry in (True, False):
        p, q = i, m + j
        while p != q:
            from_row_side = depth[p] >= depth[q]
            node = p if from_row_side else q
            s = via[node]
            # the entering cell fills its row and column, so the first cells on both sides give
            gives = (node < m) == from_row_side
            if dry:
                cell = row[s] * k + col[s]
                if gives and (flow[s] < shift or (flow[s] == shift and cell < leaving_cell)):
                    shift, leaving, leaving_cell = flow[s], s, cell
            else:
                flow[s] += -shift if gives else shift
            if from_row_side:
                p = parent[p]
            else:
                q = parent[q]
    row[leaving], col[leaving], flow[leaving] = i, j, shift
    return shift


@compiled
def pivot(cost, m, k, row, col, flow, work):  # type: ignore[no-untyped-def]
    """Improve a feasible basis in place to an optimal one.

    Returns the plan's cost and `violation`: W1 lies in [cost - violation, cost], whatever happened inside.
    Long runs of pivots that move nothing switch to Bland's rule, which cannot cycle.
    """
    dual = work[5]
    largest = 0.0
    for i in range(m):
        for j in range(k):
            largest = max(largest, abs(cost[i, j]))
    tolerance = _NOISE * largest
    i, idle, worst = 0, 0, 0.0
    for _ in range(200 + 50 * (m + k) + m * k):
        _root_tree(cost, m, k, row, col, work)
        if idle > m + k:
            i, j, worst = _entering(cost, m, k, dual, tolerance, 0, 1)
        else:
            i, j, worst = _entering(cost, m, k, dual, tolerance, max(i, 0), _BLOCK)
        if i < 0:
            break
        idle = 0 if _push(m, k, row, col, flow, i, j, work) > 0 else idle + 1
    if i >= 0:  # out of patience: still tell how far from optimal this plan can be
        _root_tree(cost, m, k, row, col, work)
        _, _, worst = _entering(cost, m, k, dual, tolerance, 0, m * k)
    value = 0.0
    for s in range(m + k - 1):
        value += flow[s] * cost[row[s], col[s]]
    return value, -worst


@compiled
def start_couplings(x, y, left, right, start, row, col, flow):  # type: ignore[no-untyped-def]
    """A north-west-corner basis for every pair (x, y); `left`, `right` are CSR (indptr, indices, data)."""
    for p in range(len(x)):
        lo, hi = start[p], start[p + 1]
        a = left[2][left[0][x[p]] : left[0][x[p] + 1]]
        b = right[2][right[0][y[p]] : right[0][y[p] + 1]]
        north_west(a, b, row[lo:hi], col[lo:hi], flow[lo:hi])


@compiled
def improve_couplings(distance, x, y, left, right, start, row, col, flow, value):  # type: ignore[no-untyped-def]
    """Re-optimise every pair's coupling for new costs; fills W1 per pair, returns the worst violation."""
    most_m, most_k = np.diff(left[0]).max(), np.diff(right[0]).max()
    work = workspace(most_m, most_k)
    cost = np.empty((most_m, most_k))
    worst = 0.0
    for p in range(len(x)):
        rows = left[1][left[0][x[p]] : left[0][x[p] + 1]]
        cols = right[1][right[0][y[p]] : right[0][y[p] + 1]]
        m, k = len(rows), len(cols)
        for i in range(m):
            for j in range(k):
                cost[i, j] = distance[rows[i], cols[j]]
        lo, hi = start[p], start[p + 1]
        value[p], violation = pivot(cost, m, k, row[lo:hi], col[lo:hi], flow[lo:hi], work)
        worst = max(worst, violation)
    return worst


@compiled
def coupling_targets(x, y, left, right, start, row, col, pair_of, target):  # type: ignore[no-untyped-def]
    """For every cell of every coupling, the number of the pair it moves to."""
    for p in range(len(x)):
        row_lo, col_lo = left[0][x[p]], right[0][y[p]]
        for s in range(start[p], start[p + 1]):
            target[s] = pair_of[left[1][row_lo + row[s]], right[1][col_lo + col[s]]]
