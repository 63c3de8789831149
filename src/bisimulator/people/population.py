"""Your own people: from records or tables to the parameters of lending.

Scores are put into bins. Each group's share, its distribution over the bins and its repayment rate in each bin are
estimated (`_estimator.py`); `Population.params` returns them as keywords of `bisimulator.make("lending", ...)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from jaxtyping import Float
from numpy.typing import ArrayLike
from typing_extensions import Unpack

from bisimulator._html import html_table
from bisimulator.core import Env, Values, make
from bisimulator.people._aggregated import AggregatedColumns
from bisimulator.people._bins import ScoredRows, check_edges, labels, whole_bins
from bisimulator.people._csv import Columns, Frame, read_table
from bisimulator.people._estimation_options import OptionKeywords
from bisimulator.people._group_effects import GroupDifference
from bisimulator.people._group_table import group_table
from bisimulator.people._rate_intervals import RateIntervals, rates_within
from bisimulator.people._records import RecordColumns, check_gamma, rejected_share


@dataclasses.dataclass(frozen=True, eq=False)
class Population:
    """People by group and bin of scores, and how they repay.

    Make one with `from_csv`, `from_frame` or `from_table`; `make` turns it into a lending environment.
    """

    origin: str
    group_names: tuple[str, ...]
    edges: Float[Values, "C+1"]
    people: Float[Values, "G C"]  # counted in the data
    accepted: Float[Values, "G C"]  # how many of them were accepted in the past; all if no column says
    repaid: Float[Values, "G C"]  # how many of the accepted repaid
    repayment: Float[Values, "G C"]  # estimated rates
    notes: tuple[str, ...]  # what to know before using it
    # of repayment at equal scores, from the first group; () if unknown
    differences: tuple[GroupDifference, ...]
    _rows: ScoredRows = dataclasses.field(repr=False)
    _intervals: RateIntervals | None = dataclasses.field(repr=False)  # None if counts of people are not known

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        *,
        group: str | Sequence[str] = "group",
        score: str = "score",
        repaid: str | None = None,
        defaulted: str | None = None,
        accepted: str | None = None,
        features: Sequence[str] = (),
        encoding: str = "utf-8",
        delimiter: str | None = None,
        **options: Unpack[OptionKeywords],
    ) -> Population:
        """Read records from a CSV file with one line per person.

        Args:
            path: the file; its first line names the columns.
            group: the column of group names, or several whose combinations are the groups.
            score: the column of scores.
            repaid: the column that says whether the loan was repaid (1 or 0, yes or no); "repaid" by default.
            defaulted: the column that says whether it was defaulted on; use it instead of `repaid`.
            accepted: the column of past decisions (1 or 0, yes or no). Repayment is then estimated from the accepted,
                and may be empty for the others; `with_gamma` and audits show what that leaves open.
            features: further columns that a model looks at, for audits of models.
            encoding: of the file.
            delimiter: of the file; None detects it in the header.
            **options: how scores are binned and rates are estimated:
                `bins` (10), the number of bins;
                `binning` ("equal-width" or "quantile");
                `edges`, the edges of the bins, instead of `bins`;
                `score_range`, lowest and highest possible score;
                `groups`, which groups in which order;
                `per_group` (True), repayment rates per group or, if False, one rate for all groups;
                `shrinkage`, the weight, in people, of the rate that a rate is shrunk towards; estimated by default;
                `fewest` (50), smaller groups raise a warning;
                `missing` ("refuse" or "drop"), what to do with rows in which a value is missing.

        Raises:
            ValueError: if the file cannot be read, or a column or a value is wrong; the message names the lines.
            TypeError: if there is no such option.

        Example:
            >>> people = Population.from_csv("people.csv", group="race", repaid="paid", score_range=(300, 850))
            >>> env = people.make(score_up=1, score_down=2, reward_default=-4)
        """
        columns = RecordColumns(group, score, repaid, defaulted, accepted, features)
        table = read_table(path, columns.names, encoding=encoding, delimiter=delimiter)
        return cls(table.origin, *columns.estimate(table, **options))

    @classmethod
    def from_frame(
        cls,
        frame: Frame | Columns,
        *,
        group: str | Sequence[str] = "group",
        score: str = "score",
        repaid: str | None = None,
        defaulted: str | None = None,
        accepted: str | None = None,
        features: Sequence[str] = (),
        **options: Unpack[OptionKeywords],
    ) -> Population:
        """Read records from a data frame with one row per person.

        Args:
            frame: a pandas or polars frame, or a mapping from column names to columns.
            group: the column of group names, or several whose combinations are the groups.
            score: the column of scores.
            repaid: the column that says whether the loan was repaid; "repaid" by default.
            defaulted: the column that says whether it was defaulted on; use it instead of `repaid`.
            accepted: the column of past decisions; see `from_csv`.
            features: further columns that a model looks at; see `from_csv`.
            **options: as in `from_csv`.

        Example:
            >>> columns = {"group": ["a", "b"] * 50, "score": [600, 700] * 50, "repaid": [0, 1] * 50}
            >>> Population.from_frame(columns, bins=2)
            Population('the dict': a 50, b 50; 2 bins 600-700)
        """
        columns = RecordColumns(group, score, repaid, defaulted, accepted, features)
        table = read_table(frame, columns.names)
        return cls(table.origin, *columns.estimate(table, **options))

    @classmethod
    def from_table(
        cls,
        source: str | Path | Frame | Columns,
        *,
        group: str | Sequence[str] = "group",
        score: str = "score",
        share: str | None = None,
        cumulative_share: str | None = None,
        repayment_rate: str | None = None,
        default_rate: str | None = None,
        people: str | None = None,
        encoding: str = "utf-8",
        delimiter: str | None = None,
        **options: Unpack[OptionKeywords],
    ) -> Population:
        """Read an aggregated table with one row per group and score.

        Args:
            source: the path of a CSV file, a frame, or a mapping from column names to columns.
            group: the column of group names, or several whose combinations are the groups.
            score: the column of scores.
            share: the column with the share of the group's people at the score.
            cumulative_share: the column with the share at or below the score, instead of `share`.
            repayment_rate: the column with the repayment rate at the score.
            default_rate: the column with the default rate, instead of `repayment_rate`.
            people: the column with the number of people in the group or, without a share, at the score.
            encoding: of a file.
            delimiter: of a file; None detects it in the header.
            **options: as in `from_csv`.

        Example:
            >>> table = {"group": ["a", "a"], "score": [1, 2], "size": [60, 40], "late": [0.3, 0.1]}
            >>> Population.from_table(table, people="size", default_rate="late", bins=2)
            Population('the dict': a 100; 2 bins 1-2)
        """
        columns = AggregatedColumns(
            group, score, share, cumulative_share, repayment_rate, default_rate, people
        )
        table = read_table(source, columns.names, encoding=encoding, delimiter=delimiter)
        return cls(table.origin, *columns.estimate(table, **options))

    @property
    def shares(self) -> Float[Values, "G"]:
        """The share of each group."""
        shares: Values = self.people.sum(1) / self.people.sum()
        return shares

    @property
    def initial(self) -> Float[Values, "G C"]:
        """The distribution of each group over the bins."""
        distribution: Values = self.people / self.people.sum(1, keepdims=True)
        return distribution

    @property
    def has_rejected(self) -> bool:
        """Whether past decisions left the repayment of some people unknown."""
        return bool((self.accepted < self.people).any())

    @property
    def rejected_share(self) -> Float[Values, "G C"]:
        """The share of each bin whom past decisions rejected; of all groups where a group has nobody, otherwise 1."""
        return rejected_share(self.people, self.accepted)

    def with_gamma(self, gamma: float) -> Population:
        """The same people if the rejected repay `gamma` times less often than the accepted with equal scores.

        The rate of a bin is that of its accepted and rejected people together.

        Raises:
            ValueError: if gamma is below 1, or no column says who was accepted in the past.

        Example:
            >>> people = Population.from_csv("people.csv", accepted="approved")
            >>> env = people.with_gamma(2).make(reward_default=-4)
        """
        share = check_gamma(gamma, self.rejected_share if self.has_rejected else None, self.origin)
        return dataclasses.replace(self, repayment=self.repayment * (1 - share + share / gamma))

    @property
    def has_intervals(self) -> bool:
        """Whether the data tell how far the repayment rates may lie from their estimates."""
        return self._intervals is not None

    def within_intervals(self, *, together: float = 0.0, apart: float = 0.0) -> Population:
        """The same people with other repayment rates that the data allow: within 95% intervals of the estimates.

        Args:
            together: where the rates of all groups lie, from -1 (the lower ends of their intervals) to 1.
            apart: where the differences of the other groups from the first one lie, from -1 to 1.

        Raises:
            ValueError: if a number is out of range, or a table does not tell how many people there are.

        Example:
            >>> people.within_intervals(together=-1).make(reward_default=-4)
        """
        rates = rates_within(self._intervals, self.repayment, self.origin, together=together, apart=apart)
        return dataclasses.replace(self, repayment=rates)

    def count(self, edges: ArrayLike) -> Float[Values, "G D"]:
        """The people of each group in other bins, counted in the data."""
        return self._rows.count(check_edges(edges))

    @property
    def records(self) -> ScoredRows:
        """Group, score and features of each row of the data."""
        return self._rows

    @property
    def bin_labels(self) -> list[str]:
        return labels(self.edges)

    def bins_of(self, points: float) -> int:
        """Convert a move in points of the score to the nearest whole number of bins.

        Raises:
            ValueError: if the bins differ in width, or the move is less than half a bin.

        Example:
            >>> people.make(score_up=people.bins_of(75), score_down=people.bins_of(150))
        """
        return whole_bins(points, self.edges)

    def params(self, **settings: object) -> dict[str, object]:
        """The population as keywords of `bisimulator.make("lending", ...)`: plain numbers, strings and lists.

        Args:
            **settings: further parameters of lending, such as `score_up` or `reward_default`.

        Example:
            >>> json.dumps(people.params(reward_default=-4))
        """
        keywords: dict[str, object] = {
            "initial": self.initial.tolist(),
            "repayment": self.repayment.tolist(),
            "group_probs": self.shares.tolist(),
            "group_names": list(self.group_names),
            "score_edges": self.edges.tolist(),
        }
        return keywords | settings

    def make(self, **settings: object) -> Env:
        """Make a lending environment of these people.

        Args:
            **settings: further parameters of lending, such as `score_up` or `reward_default`.

        Example:
            >>> people.make(score_up=1, score_down=2, reward_default=-4, horizon=5000)
        """
        return make("lending", **self.params(**settings))

    def group_table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of a table of the groups."""
        return group_table(self.group_names, self.people, self.accepted, self.repaid)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{n} {s:.0f}" for n, s in zip(self.group_names, self.people.sum(1), strict=True))
        return f"Population({self.origin!r}: {sizes}; {len(self.edges) - 1} bins {self.edges[0]:g}-{self.edges[-1]:g})"

    def _repr_html_(self) -> str:
        head, rows = self.group_table()
        bins = f"{len(self.edges) - 1} bins from {self.edges[0]:g} to {self.edges[-1]:g}"
        title = f"Population {self.origin}, {bins}"
        return html_table(title, head, rows, " ".join(self.notes))
