"""Concrete policies to put in the audited one's place: by score and group, with exact numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bisimulator import policies
from bisimulator.auditing.group_numbers import PolicyRow, exact_row
from bisimulator.core import Env, Values
from bisimulator.exact._stationary import satisfies
from bisimulator.exact.chain import expect
from bisimulator.exact.frontier import Frontier, frontier
from bisimulator.goals import Demand
from bisimulator.goals.demands import MinRecall

_CERTAIN = 0.005  # from always or never accepting; closer is rounded to it
_DIGITS = 3  # of other probabilities
_FAIRER = 0.005  # a larger share of repayers that is worth a word


@dataclasses.dataclass(frozen=True, eq=False)
class Alternative:
    """A policy by score and group; its numbers are exact."""

    demand: Demand  # what it meets
    table: Float[Values, "G C"]  # pi(accept | group, score), by whole bins
    row: PolicyRow
    bound: float  # what no policy exceeds that meets the demand
    env: Env  # with whole bins

    @property
    def thresholds(self) -> dict[str, float] | None:
        """The score from which each group is accepted; None if it is not one threshold per group."""
        edges = self.env.params.score_edges or tuple(range(self.env.params.num_scores + 1))
        levels = {}
        for name, row in zip(self.env.group_names, self.table, strict=True):
            if not np.isin(row, (0.0, 1.0)).all() or (np.diff(row) < 0).any() or not row.any():
                return None
            levels[name] = float(edges[int(row.argmax())])
        return levels

    def __repr__(self) -> str:
        return f"Alternative({self.demand.text}: earns {self.row.earned:,.0f}, thresholds {self.thresholds})"


def fairest_alternative(
    best: Frontier, env: Env, split: Env, row: PolicyRow, *, group_blind: bool
) -> Alternative | None:
    """The fairest policy found that earns no less than `row`; None if none is fairer.

    Args:
        best: the frontier of min-recall.
        env: the people, with whole bins and true scores.
        split: the same with the bins of the audited policy.
        row: the audited policy.
        group_blind: it must not look at the group.
    """
    values = best.group_blind_value if group_blind else best.stationary_value
    recalls = best.group_blind_recalls if group_blind else best.stationary_recalls
    assert values is not None
    assert recalls is not None
    smallest = np.where(values >= row.earned, np.nanmin(recalls, axis=1), -np.inf)
    i = int(smallest.argmax())
    if not smallest[i] > row.smallest_recall + _FAIRER:
        return None
    found = best.policy(i, stationary=not group_blind, group_blind=group_blind)
    demand = MinRecall(float(best.levels[i]))
    return _alternative("fairer, earns no less", demand, found, env, split, best, row.earned)


def alternative_for(demand: Demand, env: Env, split: Env, *, group_blind: bool) -> Alternative | None:
    """The best policy found that meets a demand; None if none does."""
    best = frontier(env, demand.name, [demand.level], group_blind=group_blind)
    values = best.group_blind_value if group_blind else best.stationary_value
    assert values is not None
    if np.isnan(best.upper_bound[0]) or np.isnan(values[0]):
        return None
    found = best.policy(0, stationary=not group_blind, group_blind=group_blind)
    return _alternative(f"best for {demand.text}", demand, found, env, split, best, -np.inf)


def _alternative(
    name: str,
    demand: Demand,
    found: Float[Values, "G C"],
    env: Env,
    split: Env,
    best: Frontier,
    min_earned: float,
) -> Alternative:
    table = next(
        (each for each in _rounded(found) if _as_good(each, demand, env, min_earned)),
        np.clip(found, 0.0, 1.0),
    )
    parts = split.params.num_scores // env.params.num_scores
    row = exact_row(name, split, policies.table(np.repeat(table, parts, axis=1)))
    return Alternative(demand, table, row, best.best_at(demand.level), env)


def _rounded(table: Float[Values, "G C"]) -> Iterator[Float[Values, "G C"]]:
    """Tables that people can follow, the roundest first: a demand that binds may need one rounded up, or down."""
    scale = 10.0**_DIGITS
    for certain in (_CERTAIN, 1 / scale):
        for rounded in (
            np.round(table * scale),
            np.ceil(table * scale - 1e-6),
            np.floor(table * scale + 1e-6),
        ):
            chances = np.clip(rounded / scale, 0.0, 1.0)
            yield np.where(chances < certain, 0.0, np.where(chances > 1 - certain, 1.0, chances))


def _as_good(table: Float[Values, "G C"], demand: Demand, env: Env, min_earned: float) -> bool:
    exact = expect(env, table)
    return satisfies(demand, exact.moments) and exact.average_return >= min_earned
