"""Finite chains for the tests, and a slow reference for their metric: value iteration with POT's transport."""

from __future__ import annotations

import numpy as np
import ot
from hypothesis import strategies as st


def random_chain(n, rng, support=(1, 6)):
    P = np.zeros((n, n))
    for x in range(n):
        size = rng.integers(support[0], min(support[1], n) + 1)
        P[x, rng.choice(n, size, replace=False)] = rng.dirichlet(np.ones(size))
    return P, rng.normal(size=n)


def birth_death(n, rng):
    """Like a person's credit score: up with a rising probability, else down."""
    up = np.sort(rng.random(n))
    P = np.zeros((n, n))
    for i in range(n):
        P[i, min(i + 1, n - 1)] += up[i]
        P[i, max(i - 1, 0)] += 1 - up[i]
    return P, 2 * up - 1


def deterministic(n, rng):
    return np.eye(n)[rng.integers(0, n, n)], rng.normal(size=n)


def degenerate(n, rng):
    """Equal masses and few distinct rewards: every transport problem has many optimal bases."""
    P = np.zeros((n, n))
    size = min(4, n)
    for x in range(n):
        P[x, rng.choice(n, size, replace=False)] = 1 / size
    return P, rng.integers(0, 2, n).astype(float)


KINDS = {f.__name__: f for f in (random_chain, birth_death, deterministic, degenerate)}


@st.composite
def chains(draw, min=2, max=7):
    kind = draw(st.sampled_from(sorted(KINDS)))
    return KINDS[kind](draw(st.integers(min, max)), np.random.default_rng(draw(st.integers(0, 2**32))))


def two_groups(first, second):
    """Two chains side by side as one, and the groups' labels."""
    (P, R), (Q, S) = first, second
    both = np.block([[P, np.zeros((len(P), len(Q)))], [np.zeros((len(Q), len(P))), Q]])
    return both, np.concatenate([R, S]), np.repeat([1, 2], [len(P), len(Q)])


def value_iteration(P, R, gamma, tol=1e-11):
    """F applied from 0 until the error is below tol: an increasing sequence, so the least fixed point."""
    n = len(R)
    cost, d = abs(R[:, None] - R), np.zeros((n, n))
    while True:
        w = np.zeros((n, n))
        for x in range(n):
            for y in range(x):
                w[x, y] = w[y, x] = ot.emd2(P[x], P[y], d)
        new = cost + gamma * w
        if gamma * abs(new - d).max() <= tol * (1 - gamma):
            return new
        d = new
