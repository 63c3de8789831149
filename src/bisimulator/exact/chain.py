"""Exact expectations of a policy on lending, without simulation: the oracle of the tests.

A person is an independent Markov chain over scores that moves with probability 1 / population a step. Every
expectation over an episode is then linear in the expected number of visits to each score, a geometric
series of the one-step matrix that is summed by doubling.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from bisimulator.core import Env, PersonChain, Values
from bisimulator.errors import check_probabilities, check_shape


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


def expect(env: Env, policy: ArrayLike) -> Expectation:
    """Exact expectations of `pi(accept | group, score)`, an array (groups, scores)."""
    chain = person_chain(env)
    accept = check_probabilities("policy", policy, ndim=(2,))
    check_shape("policy", accept, (env.num_groups, chain.num_scores), "groups x scores")
    weight = chain.type_probs[:, None, None]
    visits, final = _visits(accept, chain)  # (H, G, C) each, per person
    per_group = chain.group_sizes[:, None] * visits * weight
    accepted, repaid = per_group * accept, per_group * accept * chain.repayment
    reward = repaid * chain.reward_repaid + (accepted - repaid) * chain.reward_default
    return Expectation(
        average_return=float(reward.sum()),
        group_return=reward.sum((0, 2)),
        applied=per_group.sum((0, 2)),
        approved=accepted.sum((0, 2)),
        qualified=(per_group * chain.repayment).sum((0, 2)),
        approved_qualified=repaid.sum((0, 2)),
        final_scores=(final * weight).sum(0),
    )


def person_chain(env: Env) -> PersonChain:
    """The chain of one person of an environment in which observed and true scores are the same."""
    reason = why_no_chain(env)
    if reason:
        raise ValueError(f"there is no exact answer for {env.name!r}: {reason}; simulate it instead")
    assert env.scenario.person_model is not None
    return env.scenario.person_model.chain(env.params)


def why_no_chain(env: Env) -> str:
    """Why a person is not a finite Markov chain here; empty if he or she is."""
    model = env.scenario.person_model
    if model is None:
        return "people influence each other, so one person's life is not a Markov chain of its own"
    true = np.asarray(model.true_omega(env.params))
    if not (np.asarray(env.params.omega) == true).all():
        return (
            f"the agent sees other scores than the true ones (omega {np.asarray(env.params.omega).tolist()}, where "
            f"{true.tolist()} shows the true ones), so a score does not determine the probability of repayment"
        )
    return ""


def without_rare_types(chain: PersonChain) -> PersonChain:
    """The chain without the outermost types of a quadrature, which have no weight."""
    seen = chain.type_probs > 1e-10
    probs = chain.type_probs[seen] / chain.type_probs[seen].sum()
    return dataclasses.replace(chain, repayment=chain.repayment[seen], type_probs=probs)


def visit_matrix(accept: Values, chain: PersonChain) -> Values:
    """Where one visit takes a person, (H, G, C, C), from acceptance probabilities (G, C)."""
    stay = np.eye(chain.num_scores)
    up, down = (stay[scores] for scores in chain.next_scores)
    repaid = (accept * chain.repayment)[..., None]
    defaulted = (accept * (1 - chain.repayment))[..., None]
    return repaid * up + defaulted * down + (1 - repaid - defaulted) * stay


def _visits(accept: Values, chain: PersonChain) -> tuple[Values, Values]:
    """One person's expected visits at each score over the horizon, and the distribution at its end."""
    rate, move = chain.visit_rate, visit_matrix(accept, chain)
    one_step = np.eye(move.shape[-1]) + rate * (move - np.eye(move.shape[-1]))
    power, total = np.broadcast_to(np.eye(move.shape[-1]), move.shape), np.zeros(move.shape)
    for bit in bin(chain.horizon)[2:]:  # sum of one_step^t for t < horizon, by doubling
        total, power = total + power @ total, power @ power
        if bit == "1":
            total, power = total + power, power @ one_step
    start = np.broadcast_to(chain.initial, chain.repayment.shape)[..., None, :]
    return rate * (start @ total)[..., 0, :], (start @ power)[..., 0, :]
