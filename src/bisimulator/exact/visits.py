"""How often a person applies at each score, how often successfully, and where the score ends.

All expectations of an episode are linear in these numbers. A policy on scores makes a person a Markov chain in time,
and its visits are a geometric series that is summed by doubling. A policy that also looks at past loans is followed
forward from visit to visit, over all (score, loans repaid, loans defaulted).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.stats import binom

from bisimulator.core import Env, Moves, PersonChain, Values


class Visits(NamedTuple):
    """One person's expected visits over an episode, by hidden type, group and score."""

    applied: Float[Values, "H G C"]
    accepted: Float[Values, "H G C"]
    final: Float[Values, "H G C"]  # distribution of scores at the end


def visit_distribution(horizon: int, rate: float) -> tuple[Float[Values, "K"], Float[Values, "K"]]:
    """P(visits > k) and P(visits = k) of one person over an episode, for all k that are not negligible (e-30)."""
    mean = horizon * rate
    k = np.arange(min(horizon, int(mean + 12 * np.sqrt(mean) + 40)) + 1)
    return binom.sf(k, horizon, rate), binom.pmf(k, horizon, rate)


def max_visits(env: Env) -> int:
    """The number of visits of one person that an episode practically never exceeds (probability 1e-17)."""
    tail, _ = visit_distribution(int(env.params.horizon), 1 / env.params.population)
    return int((tail > 1e-17).sum())


def visit_matrix(accept: Float[Values, "G C"], chain: PersonChain) -> Float[Values, "H G C C"]:
    """The transition matrices of one visit, by hidden type and group."""
    repaid = (accept * chain.repayment)[..., None]
    defaulted = (accept * (1 - chain.repayment))[..., None]
    loans = repaid * chain.repaid.table + defaulted * chain.defaulted.table
    return loans + (1 - accept)[..., None] * chain.rejected.table


def visits_by_score(accept: Float[Values, "G C"], chain: PersonChain) -> Visits:
    """The visits under pi(accept | group, score)."""
    rate, move = chain.visit_rate, visit_matrix(accept, chain)
    one_step = np.eye(move.shape[-1]) + rate * (move - np.eye(move.shape[-1]))
    power, total = np.broadcast_to(np.eye(move.shape[-1]), move.shape), np.zeros(move.shape)
    for bit in bin(chain.horizon)[2:]:  # sum of one_step^t for t < horizon, by doubling
        total, power = total + power @ total, power @ power
        if bit == "1":
            total, power = total + power, power @ one_step
    start = np.broadcast_to(chain.initial, chain.repayment.shape)[..., None, :]
    applied = rate * (start @ total)[..., 0, :]
    return Visits(applied, applied * accept, (start @ power)[..., 0, :])


def visits_by_history(accept: Float[Values, "G C K K"], chain: PersonChain) -> Visits:
    """The visits under pi(accept | group, score, repaid, defaulted), up to K visits of a person."""
    tail, equal = visit_distribution(chain.horizon, chain.visit_rate)
    visits, repayment = accept.shape[-1], chain.repayment[..., None]
    repaid, defaulted = _each_move(chain.repaid, repayment), _each_move(chain.defaulted, 1 - repayment)
    away = _each_move(chain.rejected, np.ones_like(repayment))
    share = np.broadcast_to(chain.initial, chain.repayment.shape)[..., None, None]
    applied, accepted, final = np.zeros((3, *chain.repayment.shape))
    for k in range(visits):
        before, loans = share.sum((-2, -1)), share * accept[..., : k + 1, : k + 1]
        applied += tail[k] * before
        accepted += tail[k] * loans.sum((-2, -1))
        final += equal[k] * before
        rejected = share - loans
        share = np.pad(rejected, [(0, 0)] * 3 + [(0, 1)] * 2)
        for c, target, chance in repaid:
            share[:, :, target, 1:, :-1] += loans[:, :, c] * chance
        for c, target, chance in defaulted:
            share[:, :, target, :-1, 1:] += loans[:, :, c] * chance
        for c, target, chance in away:
            share[:, :, target, :-1, :-1] += rejected[:, :, c] * chance
            share[:, :, c, :-1, :-1] -= rejected[:, :, c] * chance
    # more visits than `visits` are negligible
    return Visits(applied, accepted, final + tail[visits - 1] * share.sum((-2, -1)))


def _each_move(
    moves: Moves, share: Float[Values, "H G C 1"]
) -> list[tuple[int, int, Float[Values, "H G 1 1"]]]:
    """Every score, a score to which it leads, and how likely that is for a share of the people."""
    probs = (moves.probs * share)[..., None, None]
    return [(c, int(moves.targets[c, k]), probs[:, :, c, k]) for c, k in np.ndindex(*moves.targets.shape)]
