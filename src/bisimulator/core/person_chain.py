"""One person's score as a finite Markov chain, on which certificates and frontiers are computed."""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray

Values: TypeAlias = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Moves:
    """Where scores go: from c to `targets[c, k]` with `probs[h, g, c, k]`. Probability that is left stays at c."""

    targets: Int[NDArray[np.int64], "C K"]
    probs: Float[Values, "H G C K"]

    @staticmethod
    def from_table(table: Float[Values, "H G C C"]) -> Moves:
        """The moves of transition matrices, one column per score that can be reached from every score."""
        possible = (table > 0).any((0, 1))
        count = int(possible.sum(-1).max(initial=0))
        targets = np.argsort(~possible, axis=-1, kind="stable")[:, :count]
        return Moves(targets, np.take_along_axis(table, targets[None, None], axis=-1))

    @property
    def table(self) -> Float[Values, "H G C C"]:
        """The transition matrices."""
        one_hot = np.eye(self.probs.shape[2])
        moved: Values = (self.probs[..., None] * one_hot[self.targets]).sum(-2)
        stay: Values = (1 - self.probs.sum(-1))[..., None] * one_hot
        return moved + stay

    def of_types(self, types: NDArray[np.bool_]) -> Moves:
        """The moves of some hidden types."""
        return dataclasses.replace(self, probs=self.probs[types])


@dataclasses.dataclass(frozen=True)
class PersonChain:
    """One person's credit score as a finite Markov chain, in double precision. Shapes: H hidden types of people."""

    initial: Float[Values, "G C"]  # distribution of scores at the start
    repayment: Float[Values, "H G C"]  # probability of repayment at each score
    type_probs: Float[Values, "H"]
    group_sizes: Float[Values, "G"]  # expected number of people
    repaid: Moves  # where a repaid loan takes a score
    defaulted: Moves  # where a default takes it
    rejected: Moves  # where a rejection takes it
    reward_repaid: float
    reward_default: float
    population: int  # each step, one person of these applies
    horizon: int
    num_scores: int

    @property
    def has_hidden_type(self) -> bool:
        return len(self.type_probs) > 1

    @property
    def visit_rate(self) -> float:
        """Probability that a given person applies in a given step."""
        return 1 / self.population

    @property
    def accepted(self) -> Float[Values, "H G C C"]:
        """The transition matrices of a loan, repaid or not."""
        repayment = self.repayment[..., None]
        return repayment * self.repaid.table + (1 - repayment) * self.defaulted.table

    @property
    def rejected_stay(self) -> bool:
        return not self.rejected.targets.size

    @property
    def shifts(self) -> tuple[int, int] | None:
        """How far a repaid loan raises every score and a default lowers it, within the range; None if that differs."""
        if not (self.rejected_stay and self.repaid.targets.shape[1] == self.defaulted.targets.shape[1] == 1):
            return None
        scores = np.arange(self.num_scores)
        repaid, defaulted = self.repaid.targets[:, 0], self.defaulted.targets[:, 0]
        up, down = int((repaid - scores).max()), int((scores - defaulted).max())
        same = (repaid == np.minimum(scores + up, scores[-1])) & (defaulted == np.maximum(scores - down, 0))
        return (up, down) if bool(same.all()) else None
