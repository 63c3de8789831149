"""Exact expectations of a policy that also looks at what never changes about a person, such as age or income.

People whom it treats alike at every score are of one kind. Each kind is a Markov chain of its own, followed from visit
to visit; all horizons are sums over the same visits.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

from bisimulator.core import Env, PersonChain, Values
from bisimulator.exact._entries import SIGNALS, Certificate, entry_without_bound
from bisimulator.exact.chain import Expectation, expectation_of, person_chain, without_rare_types
from bisimulator.exact.visits import Visits, visit_distribution

_NEGLIGIBLE = 1e-15  # probability of so many visits


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Kinds:
    """Kinds of people: of one group, and accepted with the same probability at every score. Shapes: R kinds."""

    group: Int[NDArray[np.int64], "R"]
    start: Float[Values, "R C"]  # the share of the group's people who are of the kind and start at the score
    accept: Float[Values, "R C"]  # pi(accept | kind, score)
    num_groups: int

    @property
    def decided_by_score(self) -> Float[Values, "G C"] | None:
        """`pi(accept | group, score)`; None if people of a group are treated differently at equal scores."""
        if len(self.group) > self.num_groups:
            return None
        return self.accept[np.argsort(self.group)]

    @property
    def average(self) -> Float[Values, "G C"]:
        """The share of those who start at each score that is accepted there; NaN if nobody starts at it."""
        people = self._by_group(self.start)
        accepted = self._by_group(self.start * self.accept)
        return np.divide(accepted, people, out=np.full_like(people, np.nan), where=people > 0)

    def _by_group(self, values: Float[Values, "R C"]) -> Float[Values, "G C"]:
        return np.stack([values[self.group == g].sum(0) for g in range(self.num_groups)])

    def __repr__(self) -> str:
        return f"Kinds({len(self.group)} of {self.num_groups} groups)"


def kinds_of(
    group: Int[NDArray[np.int64], "N"],
    score: Int[NDArray[np.int64], "N"],
    accept: Float[Values, "N C"],
    num_groups: int,
) -> Kinds:
    """The kinds among people, of each of whom the group, the score at the start and the decisions are known."""
    rows = np.column_stack([group, accept])
    distinct, kind = np.unique(rows, axis=0, return_inverse=True)
    start = np.zeros((len(distinct), accept.shape[1]))
    sizes = np.bincount(group, minlength=num_groups)
    np.add.at(start, (kind.reshape(-1), score), 1.0 / sizes[group])
    return Kinds(distinct[:, 0].astype(np.int64), start, distinct[:, 1:], num_groups)


def expect_kinds(env: Env, kinds: Kinds, horizons: Sequence[int] | None = None) -> list[Expectation]:
    """Exact expectations of the first decisions of an episode, one for each of the horizons; the last is the longest.

    Args:
        env: an environment in which people are independent Markov chains (lending).
        kinds: the people, and how they are treated.
        horizons: numbers of decisions; the whole episode by default.

    Raises:
        ValueError: if the environment has no exact answer.

    Example:
        >>> env = bisimulator.make("lending", groups=1)
        >>> everybody = Kinds(np.zeros(1, int), np.full((1, 7), 1 / 7), np.ones((1, 7)), 1)
        >>> expect_kinds(env, everybody)[0].recall
        array([1.])
    """
    ends = [env.horizon] if horizons is None else list(horizons)
    chain = without_rare_types(person_chain(env))
    applied, accepted = _visits(kinds, chain, _num_visits(max(ends), chain))
    found = []
    for end in ends:
        tail, equal = visit_distribution(end, chain.visit_rate)
        size = min(len(tail), len(applied))
        visits = Visits(
            np.tensordot(tail[:size], applied[:size], 1),
            np.tensordot(tail[:size], accepted[:size], 1),
            np.tensordot(equal[:size], applied[:size], 1),
        )
        params = eqx.tree_at(lambda p: p.horizon, env.params, jnp.int32(end))
        found.append(expectation_of(dataclasses.replace(env, params=params), chain, visits))
    return found


def _num_visits(horizon: int, chain: PersonChain) -> int:
    tail, _ = visit_distribution(horizon, chain.visit_rate)
    return int((tail > _NEGLIGIBLE).sum()) + 1


def _visits(
    kinds: Kinds, chain: PersonChain, visits: int
) -> tuple[Float[Values, "K H G C"], Float[Values, "K H G C"]]:
    """Where a person of each group stands at the k-th visit, and is accepted, by hidden type."""
    types = len(chain.type_probs)
    applied, accepted = np.zeros((2, visits, types, kinds.num_groups, chain.num_scores))
    repaid, defaulted, away = chain.repaid.table, chain.defaulted.table, chain.rejected.table
    for h in range(types):
        for g in range(kinds.num_groups):
            own = kinds.group == g
            share, accept, repayment = kinds.start[own], kinds.accept[own], chain.repayment[h, g]
            by_loan = repayment[:, None] * repaid[h, g] + (1 - repayment)[:, None] * defaulted[h, g]
            for k in range(visits):
                loans = share * accept
                applied[k, h, g], accepted[k, h, g] = share.sum(0), loans.sum(0)
                rejected = share - loans
                share = loans @ by_loan + (rejected if chain.rejected_stay else rejected @ away[h, g])
    return applied, accepted


def certificate_of_kinds(env: Env, expectation: Expectation) -> Certificate:
    """Exact values of every group and their gaps, without a bound: there are too many pairs of kinds."""
    totals = {
        "reward": expectation.group_return,
        "loans": expectation.approved,
        "repaid": expectation.approved_qualified,
    }
    entries = {
        (signal, "episode"): entry_without_bound(signal, "episode", totals[signal] / expectation.people)
        for signal in SIGNALS
    }
    return Certificate(env.name, float("nan"), entries, env.group_names)
