"""Exact expectations of a policy on lending, without simulation: the oracle of the tests.

A person is an independent Markov chain over scores that moves with probability 1 / population a step. Every
expectation over an episode is then linear in the expected number of visits to each score, a geometric
series of the one-step matrix that is summed by doubling. A hidden conscientiousness is integrated out by
Gauss-Hermite quadrature.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bisimulator.core import Env
from bisimulator.errors import check_probabilities, check_shape

Values = NDArray[np.float64]
_NODES = 32


@dataclasses.dataclass(frozen=True)
class Expectation:
    """Expected results of an episode. Arrays are per group; a recall is the ratio of two expectations."""

    average_return: float
    group_return: Values  # (G,) total reward from the group
    applied: Values  # (G,)
    approved: Values  # (G,) loans
    qualified: Values  # (G,) applicants who would have repaid
    approved_qualified: Values  # (G,) loans repaid
    final_scores: Values  # (G, C) expected distribution of scores at the end

    @property
    def recall(self) -> Values:
        return self.approved_qualified / self.qualified

    @property
    def recall_gap(self) -> float:
        return float(np.ptp(self.recall))

    @property
    def credit_gap(self) -> float:
        """Largest Kantorovich distance between two groups' expected final scores."""
        cdf = self.final_scores.cumsum(-1)[:, :-1]
        return float(np.abs(cdf[:, None] - cdf[None]).sum(-1).max())


def expect(env: Env, policy: Any) -> Expectation:
    """Exact expectations of pi(accept | group, score), an array (groups, scores), on a lending environment."""
    p = lending_params(env)
    accept = check_probabilities("policy", policy, ndim=(2,))
    check_shape("policy", accept, (env.num_groups, p.num_scores), "groups x scores")
    chance, weight = repayment_given_latent(p)  # (K, G, C), (K,)
    initial = np.asarray(p.initial, np.float64)
    people = p.population * normalised(p.group_probs)
    visits, final = _visits(initial, accept, chance, p)  # (K, G, C) each, per person
    per_group = people[:, None] * visits * weight[:, None, None]
    accepted, repaid = per_group * accept, per_group * accept * chance
    reward = repaid * float(p.reward_repaid) + (accepted - repaid) * float(p.reward_default)
    return Expectation(
        average_return=float(reward.sum()),
        group_return=reward.sum((0, 2)),
        applied=per_group.sum((0, 2)),
        approved=accepted.sum((0, 2)),
        qualified=(per_group * chance).sum((0, 2)),
        approved_qualified=repaid.sum((0, 2)),
        final_scores=(final * weight[:, None, None]).sum(0),
    )


def lending_params(env: Env) -> Any:
    """The params of a lending environment on which observed and true scores are the same."""
    p = env.params
    if not hasattr(p, "repayment"):
        raise ValueError(
            f"exact expectations exist for lending environments, got {env.name!r}; simulate it instead"
        )
    moves = np.array([float(p.score_up), float(p.score_down)])
    if not (np.asarray(p.omega) == moves).all():
        raise ValueError(
            f"exact expectations need observed scores to equal true ones, got omega {np.asarray(p.omega).tolist()}; "
            f"use omega {moves.tolist()} for every group, or simulate it"
        )
    return p


def normalised(probs: Any) -> Values:
    """float32 parameters as float64 probabilities that sum to 1 again."""
    probs = np.asarray(probs, np.float64)
    return probs / probs.sum(-1, keepdims=True)


def repayment_given_latent(params: Any) -> tuple[Values, Values]:
    """Repayment probabilities (K, G, C) at K values of the hidden conscientiousness, and their weights (K,)."""
    base = np.asarray(params.repayment, np.float64)
    if params.conscientiousness is None:
        return base[None], np.ones(1)
    mean, sd = np.asarray(params.conscientiousness, np.float64)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    latent = (mean + sd * nodes)[:, None, None]
    return np.clip((base + latent) / 2, 0, 1), weights / weights.sum()


def repayment_by_type(params: Any) -> tuple[Values, Values]:
    """The same without the outermost points of the quadrature, which weigh nothing."""
    chance, weight = repayment_given_latent(params)
    seen = weight > 1e-10
    return chance[seen], weight[seen] / weight[seen].sum()


def next_scores(params: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where a repaid loan and a default take each score."""
    scores = np.arange(params.num_scores)
    risen = np.minimum(scores + int(params.score_up), scores[-1])
    return risen, np.maximum(scores - int(params.score_down), 0)


def visit_matrix(accept: Values, chance: Values, params: Any) -> Values:
    """Where one visit takes a person: (..., C, C) from acceptance and repayment probabilities (..., C)."""
    stay = np.eye(chance.shape[-1])
    up, down = (stay[scores] for scores in next_scores(params))
    repaid, defaulted = (accept * chance)[..., None], (accept * (1 - chance))[..., None]
    return repaid * up + defaulted * down + (1 - repaid - defaulted) * stay


def _visits(initial: Values, accept: Values, chance: Values, params: Any) -> tuple[Values, Values]:
    """One person's expected visits at each score over the horizon, and the distribution at its end."""
    rate = 1 / params.population
    move = visit_matrix(accept, chance, params)
    one_step = np.eye(move.shape[-1]) + rate * (move - np.eye(move.shape[-1]))
    power, total = np.broadcast_to(np.eye(move.shape[-1]), move.shape), np.zeros(move.shape)
    for bit in bin(int(params.horizon))[2:]:  # sum of one_step^t for t < horizon, by doubling
        total, power = total + power @ total, power @ power
        if bit == "1":
            total, power = total + power, power @ one_step
    start = np.broadcast_to(normalised(initial), chance.shape)[..., None, :]
    return rate * (start @ total)[..., 0, :], (start @ power)[..., 0, :]
