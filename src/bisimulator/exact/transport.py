"""Optimal transport on small supports: a transportation simplex that can start from its last basis.

In a bisimulation metric the marginals of a pair's transport problem never change, only its costs do. The
old basis therefore stays feasible, and a few pivots (usually none) make it optimal again.

A basis is a spanning tree of m + k - 1 cells (row, col) with their flows. Reduced costs bound how far a plan
is from optimal (weak duality, total mass 1), so every result comes with a proven error: `violation`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike, NDArray

from bisimulator.core import Values
from bisimulator.errors import check_array, check_distribution, check_shape
from bisimulator.exact._numba import compiled

I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]
Csr: TypeAlias = tuple[I32, I32, Values]  # a sparse matrix: indptr, indices, data
Workspace: TypeAlias = tuple[I64, I64, I64, I64, I64, Values]

# A reduced cost below this fraction of the largest cost is rounding, not a better plan.
_NOISE = 1e-15
# Price at least this many cells before a pivot: all cells of a small problem, a block of a large one.
_BLOCK = 128


def optimal_transport(
    cost: ArrayLike, source: ArrayLike, target: ArrayLike
) -> tuple[float, Float[Values, "m k"]]:
    """The Wasserstein distance W1 of two distributions, and an optimal transport plan.

    Args:
        cost: what it costs to move a unit of mass from i to j, (m, k).
        source: probabilities (m,).
        target: probabilities (k,).

    Returns:
        The cost of the optimal plan, and the plan (m, k): its rows sum to `source`, its columns to `target`.

    Raises:
        ValueError: if shapes do not match, or a distribution is negative or does not sum to 1.

    Example:
        >>> value, plan = optimal_transport([[0, 1], [1, 0]], source=[0.5, 0.5], target=[0.25, 0.75])
        >>> value
        0.25
        >>> plan
        array([[0.25, 0.25],
               [0.  , 0.5 ]])
    """
    costs = check_array("cost", cost, ndim=(2,), hint="pass a matrix of costs")
    mass_from = check_distribution("source", source)
    mass_to = check_distribution("target", target)
    check_shape("cost", costs, (len(mass_from), len(mass_to)), "source entries, target entries")
    rows, cols = np.flatnonzero(mass_from), np.flatnonzero(mass_to)
    a, b = mass_from[rows] / mass_from.sum(), mass_to[cols] / mass_to.sum()
    support = np.ascontiguousarray(costs[np.ix_(rows, cols)])
    row, col, flow = _empty_basis(len(a) + len(b) - 1)
    north_west(a, b, row, col, flow)
    work = workspace(len(a), len(b))
    value, _ = pivot(support, len(a), len(b), row, col, flow, work)
    plan = np.zeros_like(costs)
    plan[rows[row], cols[col]] = flow
    return float(value), plan


def _empty_basis(cells: int) -> tuple[I32, I32, Values]:
    return np.empty(cells, np.int32), np.empty(cells, np.int32), np.empty(cells)


@compiled
def workspace(m: int, k: int) -> Workspace:
    """Scratch arrays of one problem: head, link, parent, via, order, dual."""
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
def north_west(a: Values, b: Values, row: I32, col: I32, flow: Values) -> None:
    """Fill the first basis: pair the supports in order. Optimal if cost is |V_i - V_j| and both are sorted by V."""
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
def _root_tree(cost: Values, m: int, k: int, row: I32, col: I32, work: Workspace) -> None:
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
def _entering(
    cost: Values, m: int, k: int, dual: Values, tolerance: float, first_row: int, block: int
) -> tuple[int, int, float]:
    """The most negative reduced cost among at least `block` cells from `first_row` on: its cell and its value.

    If no cell qualifies, all have been priced, and the value is the minimum over the whole problem.
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
def _push(m: int, k: int, row: I32, col: I32, flow: Values, i: int, j: int, work: Workspace) -> float:
    """Let cell (i, j) enter the basis: shift flow round its cycle until a cell is empty and leaves.

    Returns how much flow was shifted.
    """
    parent, via, order = work[2], work[3], work[4]
    depth = work[0]  # the list heads are no longer needed
    for position in range(m + k):
        node = order[position]
        depth[node] = 0 if parent[node] < 0 else depth[parent[node]] + 1
    shift, leaving, leaving_cell = np.inf, -1, -1
    for search in (True, False):
        p, q = i, m + j
        while p != q:
            from_row_side = depth[p] >= depth[q]
            node = p if from_row_side else q
            s = via[node]
            # the entering cell gains flow, so the first cells of its row and its column lose it
            loses = (node < m) == from_row_side
            if search:
                cell = row[s] * k + col[s]
                if loses and (flow[s] < shift or (flow[s] == shift and cell < leaving_cell)):
                    shift, leaving, leaving_cell = flow[s], s, cell
            else:
                flow[s] += -shift if loses else shift
            if from_row_side:
                p = parent[p]
            else:
                q = parent[q]
    row[leaving], col[leaving], flow[leaving] = i, j, shift
    return shift


@compiled
def pivot(
    cost: Values, m: int, k: int, row: I32, col: I32, flow: Values, work: Workspace
) -> tuple[float, float]:
    """Improve a feasible basis in place to an optimal one.

    Returns the plan's cost and `violation`: W1 is proven to lie in [cost - violation, cost]. After a long run of
    degenerate pivots it switches to Bland's rule, which cannot cycle.
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
    if i >= 0:  # out of iterations: the violation still bounds the error of this plan
        _root_tree(cost, m, k, row, col, work)
        _, _, worst = _entering(cost, m, k, dual, tolerance, 0, m * k)
    value = 0.0
    for s in range(m + k - 1):
        value += flow[s] * cost[row[s], col[s]]
    return value, -worst


@compiled
def start_couplings(
    x: Int[I64, "pairs"],
    y: Int[I64, "pairs"],
    left: Csr,
    right: Csr,
    start: I64,
    row: I32,
    col: I32,
    flow: Values,
) -> None:
    """Fill a north-west-corner basis for every pair (x, y) of rows of two sparse matrices."""
    for p in range(len(x)):
        lo, hi = start[p], start[p + 1]
        a = left[2][left[0][x[p]] : left[0][x[p] + 1]]
        b = right[2][right[0][y[p]] : right[0][y[p] + 1]]
        north_west(a, b, row[lo:hi], col[lo:hi], flow[lo:hi])


@compiled
def improve_couplings(
    distance: Float[Values, "n1 n2"],
    x: Int[I64, "pairs"],
    y: Int[I64, "pairs"],
    left: Csr,
    right: Csr,
    start: I64,
    row: I32,
    col: I32,
    flow: Values,
    value: Float[Values, "pairs"],
) -> float:
    """Make every pair's coupling optimal for new costs; fills W1 per pair, returns the largest violation."""
    max_m, max_k = np.diff(left[0]).max(), np.diff(right[0]).max()
    work = workspace(max_m, max_k)
    cost = np.empty((max_m, max_k))
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
def coupling_targets(
    x: Int[I64, "pairs"],
    y: Int[I64, "pairs"],
    left: Csr,
    right: Csr,
    start: I64,
    row: I32,
    col: I32,
    pair_of: Int[I32, "n1 n2"],
    target: I32,
) -> None:
    """Fill, for every cell of every coupling, the number of the pair that it moves to."""
    for p in range(len(x)):
        row_lo, col_lo = left[0][x[p]], right[0][y[p]]
        for s in range(start[p], start[p + 1]):
            target[s] = pair_of[left[1][row_lo + row[s]], right[1][col_lo + col[s]]]
