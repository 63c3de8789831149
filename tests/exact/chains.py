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


def moves_of(params):
    """Matrices of moves after a default and a repaid loan, and how many of each group move after a rejection."""
    scores = np.arange(params.num_scores)
    if params.moves is not None:
        defaulted, repaid = np.asarray(params.moves, float)
    else:
        defaulted = np.eye(len(scores))[np.maximum(scores - int(params.score_down), 0)]
        repaid = np.eye(len(scores))[np.minimum(scores + int(params.score_up), scores[-1])]
    return defaulted, repaid, np.asarray(params.rejected_moves, float)


def flow(env, groups, index):
    """Rows and right sides of what every occupancy x[g, t, c, a] satisfies: people are conserved from step to step."""
    rows, right = [], []
    to_default, to_repaid, rejected = moves_of(env.params)
    for g, group in enumerate(groups):
        p = group.types[0]
        move = p.repayment[:, None] * to_repaid + (1 - p.repayment)[:, None] * to_default
        away = p.visit_rate * rejected[g]
        for t in range(index.shape[1]):
            for c in range(index.shape[2]):
                row = np.zeros(index.size)
                row[index[g, t, c]] += 1
                if t > 0:
                    row[index[g, t - 1, c, 0]] -= 1 - away
                    row[index[g, t - 1, c, 1]] -= 1 - p.visit_rate
                    row[index[g, t - 1, :, 0]] -= away * move[:, c]
                    row[index[g, t - 1, :, 1]] -= p.visit_rate * move[:, c]
                rows.append(row)
                right.append(p.initial[c] if t == 0 else 0.0)
    return np.array(rows), right


def random_moves(rng, scores):
    """A table of moves with few targets, and how often it moves rejected people; or neither."""
    if rng.random() < 0.5:
        return {}
    tables = [random_chain(scores, rng, support=(1, 2))[0] for _ in range(2)]
    return {"moves": tables, "rejected_moves": rng.choice([0.0, 0.3])}


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
