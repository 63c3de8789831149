"""The kinds of demands on the rates of groups.

A demand maps rates (G, R) to slacks (D,), which must not be negative, and multipliers (D,) to the pressure that they
put on the rates, the sum over demands of multiplier times derivative. Both work on NumPy and JAX arrays: `xp` is the
module.
"""

from __future__ import annotations

import abc
import dataclasses
from types import ModuleType
from typing import Any, ClassVar

from bisimulator.errors import check_real
from bisimulator.goals.moments import M

Array = Any  # numpy or jax: the same code serves the exact tools and training


@dataclasses.dataclass(frozen=True)
class Demand(abc.ABC):
    """One demand at a level. Rates are `numerator / denominator`, both columns of the moments."""

    level: float
    raise_only: bool = False  # only raise the worse-off group, never lower the better-off one

    name: ClassVar[str]
    summary: ClassVar[str]
    rate: ClassVar[str]  # what a group's rate is called
    unit: ClassVar[str]  # what levels are measured in
    numerator: ClassVar[int]
    denominator: ClassVar[int]
    min_level: ClassVar[float] = 0.0
    max_level: ClassVar[float] = float("inf")
    needs_lives: ClassVar[bool] = False  # measured at the end of a life, so it needs the life view
    needs_applicants: ClassVar[bool] = True  # has no meaning where a decision is about all groups at once
    per_group: ClassVar[bool] = False  # demands something of every group by itself
    gain: ClassVar[float] = 1.0  # how strongly a multiplier reacts, as a share of the proportional gain

    def __post_init__(self) -> None:
        check_real(f"the level of {self.name}", self.level, min=self.min_level, max=self.max_level)
        if self.raise_only and not self.can_level_down:
            raise ValueError(f"{self.name} never lowers a group, so raise-only says nothing; leave it out")

    @property
    def can_level_down(self) -> bool:
        return False

    def rates(self, moments: Array, xp: ModuleType) -> Array:
        """(G, R); 0 for a group without a denominator."""
        whole = moments[:, self.denominator, None]
        return xp.where(whole > 0, self.parts(moments) / xp.maximum(whole, 1e-12), 0.0)

    def parts(self, moments: Array) -> Array:
        """The numerators, (..., R)."""
        return moments[..., self.numerator : self.numerator + 1]

    @abc.abstractmethod
    def num_demands(self, groups: int) -> int: ...

    def applies(self, groups: int, xp: ModuleType) -> Array:
        """(D,): which slacks are about something; the others, such as a group's gap to itself, are constant."""
        return xp.ones(self.num_demands(groups), dtype=bool)

    @abc.abstractmethod
    def reached(self, rates: Array, known: Array, xp: ModuleType) -> Array:
        """The level that the rates meet exactly, to compare with the level of the demand."""

    def slack(self, rates: Array, known: Array, xp: ModuleType) -> Array:
        """(D,): not negative if the demand is met; a group that is not `known` (G,) demands nothing."""
        return self.slack_at(self.level, rates, known, xp)

    @abc.abstractmethod
    def slack_at(self, level: Array, rates: Array, known: Array, xp: ModuleType) -> Array:
        """`slack` at any level: training passes its own as an array, so that all levels share a compiled program."""

    @abc.abstractmethod
    def pressure(self, multipliers: Array, rates: Array, xp: ModuleType) -> Array:
        """(G, R): the sum of multiplier times derivative of the slack by the rates."""

    @abc.abstractmethod
    def sizes(self, groups: Array, xp: ModuleType) -> Array:
        """(D,): how large the smallest group is that each slack is about, from the sizes of all groups (G,)."""

    def magnitude(self, reward: Array, visits: Array, num_scores: int) -> Array:
        """The unit of slacks, from the size of a reward, the applications of a person and the number of scores."""
        return 1.0

    @abc.abstractmethod
    def derivative(self, rates: Array, xp: ModuleType) -> Array:
        """(D, G, R): the derivative of the slacks by the rates, for few groups; `raise_only` has no part in it."""

    @property
    def text(self) -> str:
        short = f"{self.level:g}"
        level = short if float(short) == self.level else repr(float(self.level))  # nothing is rounded
        return f"{self.name}={level}" + (",raise-only" if self.raise_only else "")


class MinRate(Demand):
    """Every group's rate is at least the level."""

    per_group: ClassVar[bool] = True

    def num_demands(self, groups: int) -> int:
        return groups

    def reached(self, rates: Array, known: Array, xp: ModuleType) -> Array:
        return xp.where(known, rates[:, 0], xp.inf).min()

    def slack_at(self, level: Array, rates: Array, known: Array, xp: ModuleType) -> Array:
        return xp.where(known, rates[:, 0] - level, 0.0)

    def pressure(self, multipliers: Array, rates: Array, xp: ModuleType) -> Array:
        return multipliers[:, None]

    def sizes(self, groups: Array, xp: ModuleType) -> Array:
        return groups

    def derivative(self, rates: Array, xp: ModuleType) -> Array:
        return xp.eye(len(rates))[:, :, None]


class RateGap(Demand):
    """No two groups' rates differ by more than the level. One demand per ordered pair of groups."""

    # a multiplier moves both ends of a gap, which is measured with the noise of two rates
    gain: ClassVar[float] = 8**-0.5

    @property
    def can_level_down(self) -> bool:
        return True

    def num_demands(self, groups: int) -> int:
        return groups * groups

    def applies(self, groups: int, xp: ModuleType) -> Array:
        return ~xp.eye(groups, dtype=bool).reshape(-1)

    def reached(self, rates: Array, known: Array, xp: ModuleType) -> Array:
        return self.level - self.slack(rates, known, xp).min()

    def slack_at(self, level: Array, rates: Array, known: Array, xp: ModuleType) -> Array:
        difference = (rates[:, 0][:, None] - rates[:, 0][None]).reshape(-1)
        both = (known[:, None] & known[None]).reshape(-1)
        return xp.where(both & self.applies(len(rates), xp), level - difference, level)

    def pressure(self, multipliers: Array, rates: Array, xp: ModuleType) -> Array:
        pairs = multipliers.reshape(len(rates), len(rates))
        down, up = pairs.sum(1), pairs.sum(0)
        return (up if self.raise_only else up - down)[:, None]

    def sizes(self, groups: Array, xp: ModuleType) -> Array:
        return xp.minimum(groups[:, None], groups[None]).reshape(-1)

    def derivative(self, rates: Array, xp: ModuleType) -> Array:
        groups = xp.eye(len(rates))
        return (groups[None] - groups[:, None]).reshape(-1, len(rates), 1)


class DistributionGap(RateGap):
    """No two groups' final scores differ by more than the level (Kantorovich distance, in score points)."""

    def parts(self, moments: Array) -> Array:
        return moments[..., self.numerator :]

    def applies(self, groups: int, xp: ModuleType) -> Array:
        return xp.triu(xp.ones((groups, groups), dtype=bool), 1).reshape(-1)

    def slack_at(self, level: Array, rates: Array, known: Array, xp: ModuleType) -> Array:
        cdf = rates.cumsum(1)[:, :-1]
        distance = xp.abs(cdf[:, None] - cdf[None]).sum(-1).reshape(-1)
        both = (known[:, None] & known[None]).reshape(-1)
        return xp.where(both & self.applies(len(rates), xp), level - distance, level)

    def pressure(self, multipliers: Array, rates: Array, xp: ModuleType) -> Array:
        pairs = multipliers.reshape(len(rates), len(rates))
        pairs = xp.triu(pairs, 1)
        pairs = pairs + pairs.T
        cdf = rates.cumsum(1)[:, :-1]
        sign = xp.sign(cdf[:, None] - cdf[None])  # of group i against group j at each score
        by_cdf = -(pairs[..., None] * sign).sum(1)  # (G, C - 1)
        if self.raise_only:  # a lower distribution function is a higher score
            by_cdf = xp.minimum(by_cdf, 0.0)
        return _by_share(by_cdf, xp)

    def derivative(self, rates: Array, xp: ModuleType) -> Array:
        cdf, groups = rates.cumsum(1)[:, :-1], xp.eye(len(rates))
        sign = xp.sign(cdf[:, None] - cdf[None])[:, :, None]
        by_cdf = (groups[None] - groups[:, None])[..., None] * sign
        by_cdf = by_cdf.reshape(-1, *cdf.shape)
        return _by_share(xp.where(self.applies(len(rates), xp)[:, None, None], by_cdf, 0.0), xp)


def _by_share(by_cdf: Array, xp: ModuleType) -> Array:
    """A derivative by the shares (..., C) from one by the distribution function, which at c counts all up to c."""
    by_share = by_cdf[..., ::-1].cumsum(-1)[..., ::-1]
    return xp.concatenate([by_share, xp.zeros((*by_share.shape[:-1], 1))], -1)


class Recall(Demand):
    """Rates are recalls."""

    rate, unit = "recall", "recalls"
    numerator, denominator, max_level = M.APPROVED_QUALIFIED, M.QUALIFIED, 1.0


class Approval(Demand):
    """Rates are approval rates."""

    rate, unit = "approval rate", "approval rates"
    numerator, denominator, max_level = M.APPROVED, M.APPLIED, 1.0


class Return(Demand):
    """Rates are returns per person."""

    rate, unit = "return per person", "reward per person"
    numerator, denominator = M.REWARD, M.PEOPLE

    def magnitude(self, reward: Array, visits: Array, num_scores: int) -> Array:
        return reward * visits**0.5


class MinRecall(Recall, MinRate):
    name = "min-recall"
    summary = "every group's recall is at least the level"


class RecallGap(Recall, RateGap):
    name = "recall-gap"
    summary = "the groups' recalls differ by at most the level"


class BenefitGap(Recall, RateGap):
    """ELBERT's bias: supply over demand. With one applicant at a time, supply is a qualified person who is accepted."""

    needs_applicants: ClassVar[bool] = False

    name = "benefit-gap"
    summary = "the groups' benefit rates (supply over demand) differ by at most the level"
    rate, unit = "benefit rate", "benefit rates"


class MinApproval(Approval, MinRate):
    name = "min-approval"
    summary = "every group's approval rate is at least the level"


class ApprovalGap(Approval, RateGap):
    name = "approval-gap"
    summary = "the groups' approval rates differ by at most the level"


class MinReturn(Return, MinRate):
    name = "min-return"
    summary = "every group's return per person is at least the level"
    min_level = float("-inf")


class ReturnGap(Return, RateGap):
    name = "return-gap"
    summary = "the groups' returns per person differ by at most the level (demographic parity, definition 5)"


class CreditGap(DistributionGap):
    name = "credit-gap"
    summary = "the groups' final scores differ by at most the level, in score points"
    rate, unit = "share at each final score", "score points"
    numerator, denominator, needs_lives = M.FINAL, M.ENDED, True

    def magnitude(self, reward: Array, visits: Array, num_scores: int) -> Array:
        return max(num_scores - 1, 1) / 12**0.5


DEMANDS: dict[str, type[Demand]] = {
    kind.name: kind
    for kind in (
        MinRecall,
        RecallGap,
        MinApproval,
        ApprovalGap,
        ReturnGap,
        CreditGap,
        MinReturn,
        BenefitGap,
    )
}
