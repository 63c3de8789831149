"""Exact expectations of a policy on lending, without simulation.

A person is an independent Markov chain that moves with probability 1 / population per step. Every expectation over an
episode is then linear in the expected number of visits to each score (`visits.py`).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bisimulator._html import html_table
from bisimulator.core import Env, PersonChain, Values, require_env
from bisimulator.errors import check_probabilities, check_shape
from bisimulator.exact.visits import Visits, max_visits, visits_by_history, visits_by_score
from bisimulator.goals.moments import M

_MAX_PRINTED = 8  # groups; more are left out of the text


@dataclasses.dataclass(frozen=True, repr=False)
class Expectation:
    """Expected results of an episode. Arrays are per group; a recall is the ratio of two expectations."""

    average_return: float
    people: Float[Values, "G"]  # expected number in each group
    group_return: Float[Values, "G"]  # total reward from the group
    applied: Float[Values, "G"]
    approved: Float[Values, "G"]  # loans
    qualified: Float[Values, "G"]  # applicants who would have repaid
    approved_qualified: Float[Values, "G"]  # loans repaid
    final_scores: Float[Values, "G C"]  # expected distribution of scores at the end
    group_names: tuple[str, ...]

    @property
    def recall(self) -> Float[Values, "G"]:
        """Accepted repayers out of all repayers; NaN for a group in which nobody would repay."""
        with np.errstate(invalid="ignore"):
            return self.approved_qualified / self.qualified

    @property
    def recall_gap(self) -> float:
        """The largest minus the smallest recall."""
        return float(np.ptp(self.recall))

    @property
    def credit_gap(self) -> float:
        """The largest Kantorovich distance between two groups' expected final scores."""
        cdf = self.final_scores.cumsum(-1)[:, :-1]
        return float(np.abs(cdf[:, None] - cdf[None]).sum(-1).max())

    @property
    def moments(self) -> Float[Values, "G M"]:
        """Sums over each group's people, in the columns of `goals.Moments`, on which goals are measured."""
        moments = np.zeros((len(self.people), M.FINAL + self.final_scores.shape[1]))
        moments[:, M.REWARD], moments[:, M.PEOPLE] = self.group_return, self.people
        moments[:, M.APPLIED], moments[:, M.APPROVED] = self.applied, self.approved
        moments[:, M.QUALIFIED], moments[:, M.APPROVED_QUALIFIED] = self.qualified, self.approved_qualified
        moments[:, M.ENDED], moments[:, M.FINAL :] = self.people, self.people[:, None] * self.final_scores
        return moments

    @property
    def _title(self) -> str:
        return (
            f"Expectation: average return {self.average_return:.5g}, recall gap {self.recall_gap:.3g}, "
            f"credit gap {self.credit_gap:.3g}"
        )

    @property
    def _rows(self) -> list[tuple[str, str, str, str]]:
        groups = zip(self.group_names, self.group_return, self.recall, self.approved, strict=True)
        return [(name, f"{value:.5g}", f"{r:.3g}", f"{loans:.5g}") for name, value, r, loans in groups]

    def __repr__(self) -> str:
        rows = [
            f"  group {name}: return {value}, recall {recall}, loans {loans}"
            for name, value, recall, loans in self._rows[:_MAX_PRINTED]
        ]
        more = [f"  ... {len(self._rows)} groups"] if len(self._rows) > _MAX_PRINTED else []
        return "\n".join([self._title, *rows, *more])

    def _repr_html_(self) -> str:
        return html_table(self._title, ("group", "return", "recall", "loans"), self._rows)


def expect(env: Env, policy: ArrayLike) -> Expectation:
    """Exact expectations of a policy that looks at group and score, or also at past loans.

    Args:
        env: an environment in which people are independent Markov chains (lending, us-credit).
        policy: `pi(accept | group, score)`, an array (groups, scores); or `pi(accept | group, score, repaid,
            defaulted)`, an array (groups, scores, K, K) for up to K - 1 past loans of each kind, where K is more
            visits than a person ever makes (`bisimulator.evaluation.exact_evaluation` makes it from any policy).

    Returns:
        What an episode brings in expectation, per group.

    Raises:
        ValueError: if the environment has no exact answer, or the policy has another shape.

    Example:
        >>> expect(bisimulator.make("lending"), np.ones((2, 7)))
        Expectation: average return 3570.7, recall gap 0, credit gap 2.21
          group 1: return 3091, recall 1, loans 5000
          group 2: return 479.71, recall 1, loans 5000
    """
    chain = person_chain(env)
    accept = check_probabilities("policy", policy, ndim=(2, 4))
    if accept.ndim == 2:
        check_shape("policy", accept, (env.num_groups, chain.num_scores), "groups x scores")
        return expectation_of(env, chain, visits_by_score(accept, chain))
    size, chain = max_visits(env), without_rare_types(chain)
    expected = (env.num_groups, chain.num_scores, size, size)
    check_shape("policy", accept, expected, "groups x scores x repaid x defaulted")
    return expectation_of(env, chain, visits_by_history(accept, chain))


def expectation_of(env: Env, chain: PersonChain, visits: Visits) -> Expectation:
    """What an episode brings, from the visits of one person of each group."""
    weight = chain.type_probs[:, None, None]
    applied, accepted = (
        chain.group_sizes[:, None] * each * weight for each in (visits.applied, visits.accepted)
    )
    repaid = accepted * chain.repayment
    reward = repaid * chain.reward_repaid + (accepted - repaid) * chain.reward_default
    return Expectation(
        average_return=float(reward.sum()),
        people=chain.group_sizes,
        group_return=reward.sum((0, 2)),
        applied=applied.sum((0, 2)),
        approved=accepted.sum((0, 2)),
        qualified=(applied * chain.repayment).sum((0, 2)),
        approved_qualified=repaid.sum((0, 2)),
        final_scores=(visits.final * weight).sum(0),
        group_names=env.group_names,
    )


def person_chain(env: Env) -> PersonChain:
    """The chain of one person of an environment in which observed and true scores are the same."""
    reason = why_no_chain(env)
    if reason:
        raise ValueError(
            f"there is no exact answer for {env.name!r}: {reason}; simulate it with bisimulator.evaluate"
        )
    assert env.scenario.person_model is not None
    return env.scenario.person_model.chain(env.params)


def why_no_chain(env: Env) -> str:
    """Why a person is not a finite Markov chain here; empty if they are one."""
    require_env(env)
    model = env.scenario.person_model
    if not env.scenario.applicants:
        return "a step decides on all groups at once, so a single person is not a Markov chain"
    if model is None:
        return "people influence each other, so a single person is not a Markov chain"
    true = np.asarray(model.true_omega(env.params))
    if not (np.asarray(env.params.omega) == true).all():
        return (
            f"observed scores differ from true ones (omega is {np.asarray(env.params.omega).tolist()}; they are equal "
            f"with {true.tolist()}), so an observed score does not determine the probability of repayment"
        )
    return ""


def with_true_scores(env: Env) -> Env:
    """The environment in which true scores are observed, which the best policy prefers; itself if it has no others."""
    model = env.scenario.person_model
    return env if model is None else env.with_omega(model.true_omega(env.params))


def without_rare_types(chain: PersonChain) -> PersonChain:
    """The chain without the outermost types of a quadrature, whose weight is negligible."""
    common = chain.type_probs > 1e-10
    probs = chain.type_probs[common] / chain.type_probs[common].sum()
    return dataclasses.replace(
        chain,
        repayment=chain.repayment[common],
        type_probs=probs,
        repaid=chain.repaid.of_types(common),
        defaulted=chain.defaulted.of_types(common),
        rejected=chain.rejected.of_types(common),
    )
