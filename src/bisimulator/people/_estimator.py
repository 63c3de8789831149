"""Estimates a population from a table: groups, bins of scores, people per bin and repayment rates."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from typing_extensions import Unpack

from bisimulator.core import Values
from bisimulator.errors import check_keywords, did_you_mean
from bisimulator.people._bins import ScoredRows, labels, make_edges
from bisimulator.people._csv import Table, complete_rows
from bisimulator.people._estimation_options import EstimationOptions, OptionKeywords
from bisimulator.people._group_effects import GroupDifference, fit_group_effects, group_differences
from bisimulator.people._rate_intervals import RateIntervals, pooled_intervals, rate_intervals
from bisimulator.people._shrinkage import shrink

_MAX_GROUPS = 50  # more look like a column of names or identifiers
_ROUNDING = 0.01  # shares in published tables are rounded, so their sum is only about 1


class Estimates(NamedTuple):
    """The fields of a `Population` that are estimated."""

    group_names: tuple[str, ...]
    edges: Float[Values, "C+1"]
    people: Float[Values, "G C"]
    accepted: Float[Values, "G C"]
    repaid: Float[Values, "G C"]
    repayment: Float[Values, "G C"]
    notes: tuple[str, ...]
    differences: tuple[GroupDifference, ...]
    rows: ScoredRows
    intervals: RateIntervals | None


class PopulationEstimator:
    """Turns a table into the fields of a population and collects notes for the user on the way."""

    def __init__(self, origin: str, **options: Unpack[OptionKeywords]) -> None:
        known = [field.name for field in dataclasses.fields(EstimationOptions)]
        check_keywords("a population", options, known)
        self.origin, self.options = origin, EstimationOptions(**options)
        self.notes: list[str] = []
        self._counts_are_people = True  # otherwise shares, which tell nothing about chance

    def add_note(self, text: str) -> None:
        self.notes.append(text)

    def complete_rows(self, table: Table, text: Sequence[str], numbers: Sequence[str]) -> Table:
        drop = self.options.missing == "drop"
        return complete_rows(table, text, numbers, drop=drop, add_note=self.add_note)

    def scores(self, table: Table, name: str) -> Float[Values, "N"]:
        low, high = self.options.score_bounds
        hint = (
            "codes such as -1 or 9999 often mark missing scores: remove them, or set the possible scores, "
            "such as score_range=(300, 850)"
        )
        return table.numbers(name, min=low, max=high, hint=hint)

    def people_per_row(
        self,
        table: Table,
        group: str,
        scores: Float[Values, "N"],
        share: str | None,
        cumulative_share: str | None,
        people: str | None,
    ) -> Float[Values, "N"]:
        """How many people each row of an aggregated table stands for."""
        size = None if people is None else table.numbers(people, min=0, hint="pass numbers of people")
        column = share or cumulative_share
        if column is None:
            assert size is not None
            return size
        if size is None:
            self.add_note(
                "The table does not say how many people each group has: all are assumed to be equally large, and "
                "rates are not shrunk."
            )
            shrinkage = self.options.shrinkage or 0.0
            self.options = dataclasses.replace(self.options, shrinkage=shrinkage, fewest=0)
            size = np.ones(len(table))
            self._counts_are_people = False
        values = table.numbers(column, min=0, max=1, hint="are these percentages? divide by 100")
        cells = np.array(table.columns[group])
        result = np.empty(len(table))
        for name in dict.fromkeys(table.columns[group]):
            rows = np.flatnonzero(cells == name)
            rows = rows[np.argsort(scores[rows], kind="stable")]
            if np.ptp(size[rows]) > 0:
                raise ValueError(
                    f"{self.origin}: {people!r} must be the same on all rows of group {name!r}, got "
                    f"{size[rows].min():g} to {size[rows].max():g}; if it counts the people of a row, leave "
                    f"{column!r} out"
                )
            shares = values[rows] if share is not None else np.diff(values[rows], prepend=0.0)
            self._check_shares(table, name, column, rows, shares, cumulative=share is None)
            result[rows] = size[rows] * shares / shares.sum()
        return result

    def _check_shares(
        self,
        table: Table,
        group: str,
        column: str,
        rows: Int[NDArray[np.intp], "K"],
        shares: Float[Values, "K"],
        *,
        cumulative: bool,
    ) -> None:
        if (shares < 0).any():
            row = rows[int(shares.argmin())]
            raise ValueError(
                f"{self.origin}: {column!r} of group {group!r} falls on {table.at([row])}; a cumulative share "
                "rises with the score (is it a plain share?)"
            )
        if abs(shares.sum() - 1) > _ROUNDING:
            raise ValueError(
                f"{self.origin}: {column!r} of group {group!r} must {'end at' if cumulative else 'sum to'} 1, got "
                f"{shares.sum():.4g}; does the table contain all scores?"
            )

    def estimate(
        self,
        table: Table,
        group: str,
        scores: Float[Values, "N"],
        people: Float[Values, "N"],
        repaid: Float[Values, "N"],
        *,
        accepted: Float[Values, "N"] | None = None,
        cumulative: bool = False,
        features: Sequence[str] = (),
    ) -> Estimates:
        """Count people per group and bin, and estimate repayment rates.

        Args:
            table: the table, for group names and for row numbers in errors.
            group: the column of group names.
            scores: the score of each row.
            people: how many people each row stands for.
            repaid: how many of them repaid.
            accepted: how many of them were accepted in the past; only their repayment is known. None: all.
            cumulative: spread the people of a row evenly from the next lower score to the row's own.
            features: further columns to keep.
        """
        options = self.options
        names, index = self._groups(np.array(table.columns[group]), people)
        chosen = index >= 0
        table, index = table.select(chosen), index[chosen]
        scores, people, repaid = scores[chosen], people[chosen], repaid[chosen]
        known = people if accepted is None else accepted[chosen]
        edges = make_edges(
            scores,
            people,
            bins=options.bins,
            binning=options.binning,
            edges=options.edges,
            score_range=options.score_range,
            add_note=self.add_note,
        )
        outside = np.flatnonzero((scores < edges[0]) | (scores > edges[-1]))
        if outside.size:
            raise ValueError(
                f"{self.origin}: a score of {scores[outside[0]]:g} on {table.at(outside)} lies outside the edges "
                f"{edges[0]:g} to {edges[-1]:g}; widen them"
            )
        kept = {name: table.feature(name) for name in features}
        rows = ScoredRows(index, scores, people, len(names), cumulative, kept)
        people_by_bin, known_by_bin, repaid_by_bin = (rows.count(edges, n) for n in (people, known, repaid))
        effects = fit_group_effects(known_by_bin, repaid_by_bin)
        rates, pooled = shrink(effects, known_by_bin, repaid_by_bin, options.shrinkage)
        if not options.per_group:
            rates = np.tile(pooled, (len(names), 1))
        differences: tuple[GroupDifference, ...] = ()
        intervals: RateIntervals | None = None
        if self._counts_are_people:
            differences = group_differences(effects, names, known_by_bin, of_accepted=accepted is not None)
            if options.per_group:
                intervals = rate_intervals(effects, known_by_bin)
            else:
                intervals = pooled_intervals(known_by_bin, repaid_by_bin)
        self._add_notes(
            names, edges, people_by_bin, people_by_bin if accepted is None else known_by_bin, rates
        )
        self.notes += [difference.in_words for difference in differences] if options.per_group else []
        notes = tuple(self.notes)
        counts = (people_by_bin, known_by_bin, repaid_by_bin)
        return Estimates(names, edges, *counts, rates, notes, differences, rows, intervals)

    def _groups(
        self, cells: NDArray[np.str_], people: Float[Values, "N"]
    ) -> tuple[tuple[str, ...], Int[NDArray[np.int64], "N"]]:
        """The names of the groups in order, and the group of each row; -1 if the group is left out."""
        present, row_group = np.unique(cells, return_inverse=True)
        sizes = np.bincount(row_group, people).astype(np.float64)
        order = self._group_order([str(name) for name in present], sizes)
        position = np.full(len(present), -1)
        position[order] = np.arange(len(order))
        names = tuple(str(present[i]) for i in order)
        for name, size in zip(names, sizes[order], strict=True):
            if size <= 0:
                raise ValueError(f"{self.origin}: group {name!r} has no people; leave it out")
        return names, position[row_group]

    def _group_order(self, present: list[str], sizes: Float[Values, "K"]) -> Int[NDArray[np.intp], "G"]:
        """Indices of the chosen groups in order."""
        if self.options.groups is None:
            if len(present) > _MAX_GROUPS:
                raise ValueError(
                    f"{self.origin}: there are {len(present)} different groups, such as {present[0]!r}; is that "
                    "the column of groups? If so, choose some of them: groups=(...)"
                )
            return np.argsort(-sizes, kind="stable")
        chosen = list(dict.fromkeys(self.options.groups))
        if not chosen:
            raise ValueError("groups is empty; name at least one group")
        for name in chosen:
            if name not in present:
                raise ValueError(f"{self.origin} has no group {name!r}.{did_you_mean(name, present)}")
        left_out = [name for name in present if name not in chosen]
        if left_out:
            self.add_note(f"Left out: {', '.join(left_out)}.")
        return np.array([present.index(name) for name in chosen])

    def _add_notes(
        self,
        names: Sequence[str],
        edges: Float[Values, "C+1"],
        people: Float[Values, "G C"],
        known: Float[Values, "G C"],
        rates: Float[Values, "G C"],
    ) -> None:
        """Notes about data that are valid but unusual."""
        if known is not people:
            self.add_note(
                f"Past decisions accepted {known.sum():,.0f} of {people.sum():,.0f} people "
                f"({known.sum() / people.sum():.0%}). Repayment is estimated from them alone: at equal scores, the "
                "rejected are taken to repay as often as the accepted of their group."
            )
        if len(names) == 1:
            self.add_note(f"There is only one group, {names[0]!r}, so there is nothing to compare.")
        lower = [name.lower() for name in names]
        for name in names:
            if lower.count(name.lower()) > 1:
                self.add_note(f"Group {name!r} differs from another group only in upper and lower case.")
        for name, counts, rate in zip(names, known, rates, strict=True):
            if counts.sum() < self.options.fewest:
                self._warn_of_few(name, counts.sum(), of_accepted=known is not people)
            self._note_falling_rates(name, labels(edges), counts, rate)
        unknown = np.flatnonzero((known.sum(0) == 0) & (people.sum(0) > 0))
        if unknown.size:
            self.add_note(
                f"Nobody was accepted in {unknown.size} of {people.shape[1]} bins in which there are people "
                f"({', '.join(labels(edges)[c] for c in unknown)}); their repayment rates are extrapolated from the "
                "trend over the other scores."
            )
        empty = int((people.sum(0) == 0).sum())
        if empty:
            self.add_note(
                f"{empty} of {people.shape[1]} bins are empty at the start; their repayment rates follow the "
                "trend over the scores."
            )

    def _warn_of_few(self, name: str, people: float, *, of_accepted: bool) -> None:
        whom = "people who were accepted in the past" if of_accepted else "people"
        text = (
            f"Group {name!r} has {people:.0f} {whom}, fewer than {self.options.fewest}: "
            "its figures are mostly noise, and its rates are mostly those of all people."
        )
        self.add_note(text)
        warnings.warn(text, stacklevel=6)

    def _note_falling_rates(
        self, name: str, bins: Sequence[str], people: Float[Values, "C"], rates: Float[Values, "C"]
    ) -> None:
        falls = np.flatnonzero((np.diff(rates) < -1e-9) & (people[1:] > 0) & (people[:-1] > 0))
        if falls.size:
            worst = falls[np.diff(rates)[falls].argmin()]
            self.add_note(
                f"Repayment of {name!r} does not always rise with the score: it falls in {falls.size} of "
                f"{len(rates) - 1} steps, most from {rates[worst]:.3f} ({bins[worst]}) to {rates[worst + 1]:.3f} "
                f"({bins[worst + 1]}). It is used as it is."
            )
