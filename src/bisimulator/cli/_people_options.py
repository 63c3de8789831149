"""A file of people on the command line: which column is what, and how scores are put in bins."""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path
from typing import Any, Literal

from bisimulator.people.population import Population

_OF_TABLES = ("share", "cumulative_share", "repayment_rate", "default_rate", "people")


@dataclasses.dataclass(frozen=True)
class People:
    """Options of a population."""

    group: tuple[str, ...] = ("group",)
    """column of the groups' names, or several whose combinations are the groups"""
    score: str = "score"
    """column of the scores"""
    repaid: str | None = None
    """records: column that tells whether the loan was repaid (1 or 0, yes or no); `repaid` by default"""
    defaulted: str | None = None
    """records: column that tells whether it was defaulted on, instead"""
    accepted: str | None = None
    """records: column of past decisions; the repayment of those who were rejected is unknown"""
    features: tuple[str, ...] = ()
    """records: further columns that a model looks at; they stay while the score moves"""
    share: str | None = None
    """tables: column of the share of the group's people at the score"""
    cumulative_share: str | None = None
    """tables: column of the share at and below the score, instead"""
    repayment_rate: str | None = None
    """tables: column of the rate of repayment at the score"""
    default_rate: str | None = None
    """tables: column of the rate of default, instead"""
    people: str | None = None
    """tables: column of the number of people of the group, or without a share of those at the score"""
    bins: int = 10
    """number of bins of scores"""
    binning: Literal["equal-width", "quantile"] = "equal-width"
    """how they are made"""
    edges: tuple[float, ...] | None = None
    """the bins' edges, instead"""
    score_range: tuple[float, float] | None = None
    """lowest and highest score that can be, such as 300 850"""
    shrinkage: float | None = None
    """weight, in people, of the rate that a group's rate is drawn towards; told by the data by default"""
    per_group: bool = True
    """rates of repayment of each group; otherwise the same for all"""
    missing: Literal["refuse", "drop"] = "refuse"
    """what to do with rows in which a value is missing"""
    encoding: str = "utf-8"
    """of the file"""
    up: float | None = None
    """points by which a repaid loan raises the score; one bin by default"""
    down: float | None = None
    """points by which a default lowers it; one bin by default"""

    def read(self, path: Path) -> Population:
        """From records, or from a table if a column of one is named."""
        options = {
            f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("up", "down")
        }
        records = {name: options.pop(name) for name in ("repaid", "defaulted", "accepted", "features")}
        table = {name: options.pop(name) for name in _OF_TABLES}
        is_table = any(name is not None for name in table.values())
        if is_table and any(name is not None and name != () for name in records.values()):
            raise ValueError(
                "repaid, defaulted, accepted and features are columns of records, share and rates those of a table; "
                "name one kind"
            )
        with warnings.catch_warnings():  # they are among the population's notes, which are shown
            warnings.simplefilter("ignore", UserWarning)
            if is_table:
                return Population.from_table(path, **table, **options)
            return Population.from_csv(path, **records, **options)

    def moves(self, found: Population) -> dict[str, Any]:
        """Score moves in bins, as parameters of lending."""
        points = {"score_up": self.up, "score_down": self.down}
        return {name: found.bins_of(value) for name, value in points.items() if value is not None}
