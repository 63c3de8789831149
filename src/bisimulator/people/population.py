"""One's own people: from records or tables to the parameters of lending.

Scores are put in bins; each group's share, its distribution over the bins and its rate of repayment in each bin are
estimated (`estimating.py`); `params()` gives them as keywords of `bisimulator.make("lending", ...)`.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from bisimulator.core import Env, make
from bisimulator.errors import check_real
from bisimulator.people._bins import labels
from bisimulator.people._csv import Table, read_table
from bisimulator.people._estimate import Estimate

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class Population:
    """People by group and bin of scores, and how they repay."""

    origin: str
    group_names: tuple[str, ...]
    edges: Float[Array, "C+1"]
    people: Float[Array, "G C"]  # in the data
    repaid: Float[Array, "G C"]  # of them
    repayment: Float[Array, "G C"]  # rates, estimated
    notes: tuple[str, ...]  # what one should know before using it

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        *,
        group: str = "group",
        score: str = "score",
        repaid: str | None = None,
        defaulted: str | None = None,
        encoding: str = "utf-8",
        delimiter: str | None = None,
        **options: Any,
    ) -> Population:
        """From records, a line a person: columns of the group, the score, and whether a loan was repaid (or defaulted).

        `options` are those of `estimating.Options`: bins, binning, edges, groups, per_group, shrinkage, ...
        """
        names = (group, score, *_outcome(repaid, defaulted))
        return cls._from_records(
            read_table(path, names, encoding=encoding, delimiter=delimiter),
            names,
            defaulted is not None,
            options,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        group: str = "group",
        score: str = "score",
        repaid: str | None = None,
        defaulted: str | None = None,
        **options: Any,
    ) -> Population:
        """From records in a pandas or polars frame, or in a mapping from names to columns."""
        names = (group, score, *_outcome(repaid, defaulted))
        return cls._from_records(read_table(frame, names), names, defaulted is not None, options)

    @classmethod
    def _from_records(
        cls, table: Table, names: tuple[str, str, str], defaulted: bool, options: dict[str, Any]
    ) -> Population:
        group, score, outcome = names
        estimate = Estimate(table.origin, options)
        table = estimate.complete(table, [group, outcome], [score])
        scores = estimate.scores(table, score)
        repaid = table.flags(outcome) != defaulted
        return cls(table.origin, *estimate.cells(table, group, scores, np.ones(len(table)), repaid * 1.0))

    @classmethod
    def from_table(
        cls,
        source: Any,
        *,
        group: str = "group",
        score: str = "score",
        share: str | None = None,
        cumulative_share: str | None = None,
        repayment_rate: str | None = None,
        default_rate: str | None = None,
        people: str | None = None,
        encoding: str = "utf-8",
        delimiter: str | None = None,
        **options: Any,
    ) -> Population:
        """From an aggregated table (a CSV file, a frame or a mapping), a row for each group and score.

        `share` or `cumulative_share`: of the group's people at this score, or at and below it; `people`: of the
        group, or without a share those at this score. `repayment_rate` or `default_rate`: of those at this score.
        """
        if (repayment_rate is None) == (default_rate is None):
            raise ValueError("name one of repayment_rate and default_rate, the column of rates")
        if share is not None and cumulative_share is not None:
            raise ValueError("name share or cumulative_share, not both")
        if share is None and cumulative_share is None and people is None:
            raise ValueError("name share, cumulative_share or people: how many people have each score")
        rate = repayment_rate or default_rate or ""
        numbers = [score, rate, *(name for name in (share, cumulative_share, people) if name is not None)]
        table = read_table(source, (group, *numbers), encoding=encoding, delimiter=delimiter)
        estimate = Estimate(table.origin, options)
        table = estimate.complete(table, [group], numbers)
        scores = estimate.scores(table, score)
        rates = table.numbers(rate, min=0, max=1, hint="are these percentages? divide by 100")
        repaid = rates if default_rate is None else 1 - rates
        counts = estimate.counts(table, group, scores, share, cumulative_share, people)
        return cls(
            table.origin,
            *estimate.cells(
                table, group, scores, counts, counts * repaid, up_to=cumulative_share is not None
            ),
        )

    @property
    def shares(self) -> Float[Array, "G"]:
        """Of each group in all people."""
        return self.people.sum(1) / self.people.sum()

    @property
    def initial(self) -> Float[Array, "G C"]:
        """Each group's distribution over the bins."""
        return self.people / self.people.sum(1, keepdims=True)

    @property
    def bin_labels(self) -> list[str]:
        return labels(self.edges)

    def bins_of(self, points: float) -> int:
        """How many bins a move of `points` on the score's own scale is, to the nearest whole one."""
        widths = np.diff(self.edges)
        check_real("points", points, min=0)
        if np.ptp(widths) > 1e-6 * widths.max():
            raise ValueError(
                f"the bins are {widths.min():g} to {widths.max():g} points wide, so {points:g} points are not the same "
                "number of bins everywhere; use equal-width bins, or give moves in bins (score_up=1)"
            )
        moved = points / widths.mean() if widths.mean() > 0 else 0.0
        if points > 0 and moved < 0.5 and widths.mean() > 0:
            raise ValueError(
                f"{points:g} points are less than half a bin of {widths.mean():g}, so no score would ever move; "
                f"use at least {math.ceil((self.edges[-1] - self.edges[0]) / (2 * points))} bins"
            )
        return round(moved)

    def params(self, **settings: Any) -> dict[str, Any]:
        """Keywords of `bisimulator.make("lending", ...)`, plain numbers and lists; `settings` are further ones."""
        known = {
            "initial": self.initial.tolist(),
            "repayment": self.repayment.tolist(),
            "group_probs": self.shares.tolist(),
            "group_names": list(self.group_names),
            "score_edges": self.edges.tolist(),
        }
        return known | settings

    def make(self, **settings: Any) -> Env:
        """The lending environment of these people."""
        return make("lending", **self.params(**settings))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n} {s:.0f}" for n, s in zip(self.group_names, self.people.sum(1), strict=True))
        return f"Population({self.origin!r}: {sizes}; {len(self.edges) - 1} bins {self.edges[0]:g}-{self.edges[-1]:g})"


def _outcome(repaid: str | None, defaulted: str | None) -> tuple[str]:
    if repaid is not None and defaulted is not None:
        raise ValueError(f"name repaid or defaulted, not both, got {repaid!r} and {defaulted!r}")
    return (repaid or defaulted or "repaid",)
