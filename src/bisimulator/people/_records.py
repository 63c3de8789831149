"""Records of people, one row each: which column is what, and whose repayment is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float
from typing_extensions import Unpack

from bisimulator.core import Values
from bisimulator.errors import check_real, shown
from bisimulator.people._columns import PeopleColumns
from bisimulator.people._csv import Flags, Table
from bisimulator.people._estimation_options import OptionKeywords
from bisimulator.people._estimator import Estimates, PopulationEstimator


@dataclasses.dataclass(frozen=True)
class RecordColumns(PeopleColumns):
    """The columns of records."""

    repaid: str | None = None
    defaulted: str | None = None  # instead of `repaid`
    accepted: str | None = None  # past decisions: the repayment of the rejected is unknown
    features: Sequence[str] = ()  # further columns that a model looks at

    def __post_init__(self) -> None:
        self._check_names("repaid", "defaulted", "accepted")
        if self.repaid is not None and self.defaulted is not None:
            raise ValueError(
                f"name repaid or defaulted, not both, got {self.repaid!r} and {self.defaulted!r}"
            )
        given = self.features
        listed = isinstance(given, Iterable) and not isinstance(given, str | Mapping)
        if not listed or not all(isinstance(name, str) for name in given):
            raise TypeError(
                f"features must be a list of columns, got {shown(given)}; such as ['age', 'income']"
            )
        for name in self.features:
            if name in (self.score, self.outcome, self.accepted) or list(self.features).count(name) > 1:
                raise ValueError(
                    f"features are columns other than score and outcome, each named once, got {name!r} in "
                    f"{list(self.features)}; leave it out: a model is given the score by the name 'score'"
                )

    @property
    def outcome(self) -> str:
        return self.repaid or self.defaulted or "repaid"

    @property
    def always_known(self) -> list[str]:
        """Columns of text that must not be empty."""
        return [*self.group_columns, self.outcome if self.accepted is None else self.accepted]

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys([*self.always_known, self.score, self.outcome, *self.features]))

    def estimate(self, table: Table, **options: Unpack[OptionKeywords]) -> Estimates:
        """Count people, and estimate repayment from those whose outcome is known."""
        estimator = PopulationEstimator(table.origin, **options)
        numbers = [self.score, *(name for name in self.features if table.has_numbers(name))]
        text = dict.fromkeys([*self.always_known, *(name for name in self.features if name not in numbers)])
        table = estimator.complete_rows(table, list(text), numbers)
        accepted = self._accepted(table, estimator)
        known = estimator.complete_rows(table.select(accepted), [self.outcome], [])
        if len(known) < accepted.sum():  # accepted people without an outcome were dropped
            kept = set(known.row_numbers)
            table = table.select(~accepted | np.array([row in kept for row in table.row_numbers]))
            accepted = table.flags(self.accepted) if self.accepted else np.ones(len(table), bool)
        repaid = np.zeros(len(table))
        repaid[accepted] = known.flags(self.outcome) != (self.defaulted is not None)
        table, group = table.join(self.group_columns)
        return estimator.estimate(
            table,
            group,
            estimator.scores(table, self.score),
            np.ones(len(table)),
            repaid,
            accepted=None if self.accepted is None else accepted.astype(np.float64),
            features=self.features,
        )

    def _accepted(self, table: Table, estimator: PopulationEstimator) -> Bool[Flags, "N"]:
        """Who was accepted in the past; everybody if no column says."""
        if self.accepted is None:
            return np.ones(len(table), bool)
        accepted = table.flags(self.accepted)
        if not accepted.any():
            raise ValueError(
                f"{table.origin}: nobody was accepted in column {self.accepted!r}, so nothing is known about "
                "repayment; 1, yes or true must mark those who were accepted"
            )
        unused = int((~accepted & ~table.missing(self.outcome)).sum())
        if unused:
            estimator.add_note(
                f"{unused:,} rejected people have an entry in column {self.outcome!r}; it is not used."
            )
        return accepted


def rejected_share(people: Float[Values, "G C"], accepted: Float[Values, "G C"]) -> Float[Values, "G C"]:
    """The share of rejected people by group and bin; see `Population.rejected_share`."""
    everybody, known = people.sum(0), accepted.sum(0)
    overall = np.divide(everybody - known, everybody, out=np.ones(len(everybody)), where=everybody > 0)
    share = np.tile(overall, (len(people), 1))
    own: Values = np.divide(people - accepted, people, out=share, where=people > 0)
    return own


def check_gamma(gamma: float, share: Float[Values, "G C"] | None, origin: str) -> Float[Values, "G C"]:
    """The share of the rejected; an error if there are none, or gamma is below 1."""
    check_real("gamma", gamma, min=1)
    if share is None:
        raise ValueError(
            f"gamma={gamma:g} is about people who were rejected in the past, and {origin} tells of none; name the "
            "column of past decisions, such as accepted='approved'"
        )
    return share
