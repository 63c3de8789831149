"""Aggregated tables, one row per group and score: which column is what."""

from __future__ import annotations

import dataclasses

from typing_extensions import Unpack

from bisimulator.people._columns import PeopleColumns
from bisimulator.people._csv import Table
from bisimulator.people._estimation_options import OptionKeywords
from bisimulator.people._estimator import Estimates, PopulationEstimator


@dataclasses.dataclass(frozen=True)
class AggregatedColumns(PeopleColumns):
    """The columns of an aggregated table."""

    share: str | None = None
    cumulative_share: str | None = None  # instead of `share`
    repayment_rate: str | None = None
    default_rate: str | None = None  # instead of `repayment_rate`
    people: str | None = None

    def __post_init__(self) -> None:
        self._check_names("people", "share", "cumulative_share", "repayment_rate", "default_rate")
        if (self.repayment_rate is None) == (self.default_rate is None):
            raise ValueError("name one of repayment_rate and default_rate, the column of rates")
        if self.share is not None and self.cumulative_share is not None:
            raise ValueError("name share or cumulative_share, not both")
        if self.share is None and self.cumulative_share is None and self.people is None:
            raise ValueError("name share, cumulative_share or people: how many people have each score")

    @property
    def rate(self) -> str:
        return self.repayment_rate or self.default_rate or ""

    @property
    def numbers(self) -> list[str]:
        sizes = (self.share, self.cumulative_share, self.people)
        return [self.score, self.rate, *(name for name in sizes if name is not None)]

    @property
    def names(self) -> list[str]:
        return [*self.group_columns, *self.numbers]

    def estimate(self, table: Table, **options: Unpack[OptionKeywords]) -> Estimates:
        """Count the people of each row, and estimate repayment."""
        estimator, by = PopulationEstimator(table.origin, **options), self.group_columns
        table, joined = estimator.complete_rows(table, by, self.numbers).join(by)
        scores = estimator.scores(table, self.score)
        rates = table.numbers(self.rate, min=0, max=1, hint="are these percentages? divide by 100")
        counts = estimator.people_per_row(
            table, joined, scores, self.share, self.cumulative_share, self.people
        )
        repaid = counts * (rates if self.default_rate is None else 1 - rates)
        cumulative = self.cumulative_share is not None
        return estimator.estimate(table, joined, scores, counts, repaid, cumulative=cumulative)
