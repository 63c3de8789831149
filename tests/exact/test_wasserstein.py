"""All pairs at once against POT, with supports of one, two and three points."""

import numpy as np
import ot
import pytest

from bisimulator.exact._finite import check_chain
from bisimulator.exact._wasserstein import pairwise_wasserstein


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_pot(seed):
    rng = np.random.default_rng(seed)
    left, right = (random_rows(n, 5, rng) for n in (9, 8))
    distance = rng.random((2, 5, 5))
    distance[1] = distance[1].round(1)  # ties
    value, violation = pairwise_wasserstein(distance, csr(left), csr(right))
    for s, cost in enumerate(distance):
        expected = [[ot.emd2(a, b, cost) for b in right] for a in left]
        np.testing.assert_allclose(value[s], expected, atol=1e-12)
    assert (violation < 1e-14).all()


def random_rows(n, states, rng):
    """Distributions on one, two and three states; with two states, also one with equal shares."""
    rows = np.zeros((n, states))
    for x in range(n):
        size = x % 3 + 1
        shares = [0.5, 0.5] if x == 1 else rng.dirichlet(np.ones(size))
        rows[x, rng.choice(states, size, replace=False)] = shares
    return rows


def csr(rows):
    padded = np.zeros((len(rows), len(rows)))
    padded[:, : rows.shape[1]] = rows
    matrix, _ = check_chain(padded, np.zeros(len(rows)))
    return matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data
