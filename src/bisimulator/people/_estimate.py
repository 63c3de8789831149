"""What a table of people says: groups, bins of scores, how many people are where, and how they repay."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from bisimulator.errors import check_int, check_keywords, check_known, check_real, did_you_mean
from bisimulator.people._bins import count_in_bins, labels, make_edges, spread_over_bins
from bisimulator.people._csv import Table, without_missing
from bisimulator.people._shrinkage import shrink

Array = NDArray[np.float64]

_MANY_GROUPS = 50  # more look like names or numbers of people
_ROUNDING = 0.01  # shares in published tables are rounded, so they sum to 1 only about


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """What all three ways to a population understand."""

    bins: int = 10  # how many
    binning: str = "equal-width"  # or "quantile": as many people in each bin
    edges: Any = None  # the bins' edges themselves, one more than bins
    score_range: tuple[float, float] | None = (
        None  # scores that can be; None: from 0 on, as far as there are any
    )
    groups: Sequence[str] | None = None  # which ones, in this order; None: all, the largest first
    per_group: bool = True  # a rate of repayment for each group; False: the same for all
    shrinkage: float | None = None  # weight, in people, of the rate drawn towards; None: told by the data
    fewest: int = 50  # fewer people in a group are warned of
    missing: str = "refuse"  # or "drop": leave out rows in which a value is missing

    def __post_init__(self) -> None:
        check_known("missing", self.missing, ("refuse", "drop"))
        check_int("fewest", self.fewest, min=0)
        if self.shrinkage is not None:
            check_real("shrinkage", self.shrinkage, min=0)
        if self.score_range is not None:
            low, high = (check_real("score_range", end) for end in self.score_range)
            if low >= high:
                raise ValueError(f"score_range must be (lowest, highest), got {self.score_range}")

    @property
    def scores_within(self) -> tuple[float, float]:
        return (0.0, math.inf) if self.score_range is None else self.score_range


class Estimate:
    """Collects notes on the way from a table to a population."""

    def __init__(self, origin: str, options: dict[str, Any]) -> None:
        check_keywords("a population", options, [field.name for field in dataclasses.fields(Options)])
        self.origin, self.options = origin, Options(**options)
        self.notes: list[str] = []

    def complete(self, table: Table, text: Sequence[str], numbers: Sequence[str]) -> Table:
        drop = self.options.missing == "drop"
        return without_missing(table, text, numbers, drop=drop, say=self.notes.append)

    def scores(self, table: Table, name: str) -> Float[Array, "N"]:
        low, high = self.options.scores_within
        hint = (
            "codes such as -1 or 9999 often stand for missing: remove them; or say which can be: score_range"
        )
        return table.numbers(name, min=low, max=high, hint=hint)

    def counts(
        self,
        table: Table,
        group: str,
        scores: Float[Array, "N"],
        share: str | None,
        cumulative_share: str | None,
        people: str | None,
    ) -> Float[Array, "N"]:
        """How many people each row of an aggregated table stands for."""
        size = None
        if people is not None:
            size = table.numbers(people, min=0, hint="these are numbers of people")
        if share is None and cumulative_share is None:
            assert size is not None
            return size
        if size is None:
            self.notes.append(
                "The table does not say how many people each group has: all are taken to be equally large, and rates "
                "are taken as they are."
            )
            self.options = dataclasses.replace(
                self.options, shrinkage=self.options.shrinkage or 0.0, fewest=0
            )
            size = np.ones(len(table))
        column = share or cumulative_share or ""
        part = table.numbers(column, min=0, max=1, hint="are these percentages? divide by 100")
        cells = np.array(table.columns[group])
        counts = np.empty(len(table))
        for name in dict.fromkeys(table.columns[group]):
            mine = np.flatnonzero(cells == name)
            mine = mine[np.argsort(scores[mine], kind="stable")]
            if np.ptp(size[mine]) > 0:
                raise ValueError(
                    f"{self.origin}: {people!r} must be the same on all rows of group {name!r}, got "
                    f"{size[mine].min():g} to {size[mine].max():g}; if it counts a row's people, leave {column!r} out"
                )
            steps = part[mine] if share is not None else np.diff(part[mine], prepend=0.0)
            if (steps < 0).any():
                row = mine[int(steps.argmin())]
                raise ValueError(
                    f"{self.origin}: {column!r} of group {name!r} falls on {table.at([row])}; a cumulative share "
                    "rises with the score (is it a plain share?)"
                )
            if abs(steps.sum() - 1) > _ROUNDING:
                raise ValueError(
                    f"{self.origin}: {column!r} of group {name!r} must {'sum to' if share else 'end at'} 1, got "
                    f"{steps.sum():.4g}; does the table hold all scores?"
                )
            counts[mine] = size[mine] * steps / steps.sum()
        return counts

    def cells(
        self,
        table: Table,
        group: str,
        scores: Float[Array, "N"],
        counts: Float[Array, "N"],
        repaid: Float[Array, "N"],
        *,
        up_to: bool = False,
    ) -> tuple[tuple[str, ...], Float[Array, "C+1"], Array, Array, Array, tuple[str, ...]]:
        """Names, edges, people, of them repaid, rates of repayment, notes: the fields of a `Population`.

        `up_to`: the people of a row have scores from that of the row below up to the row's own, evenly.
        """
        o = self.options
        names, place = self._groups(np.array(table.columns[group]), counts)
        kept = place >= 0
        table, place, scores, counts, repaid = (
            table.keep(kept),
            place[kept],
            scores[kept],
            counts[kept],
            repaid[kept],
        )
        edges = make_edges(
            scores,
            counts,
            bins=o.bins,
            binning=o.binning,
            edges=o.edges,
            score_range=o.score_range,
            say=self.notes.append,
        )
        outside = np.flatnonzero((scores < edges[0]) | (scores > edges[-1]))
        if outside.size:
            raise ValueError(
                f"{self.origin}: a score of {scores[outside[0]]:g} on {table.at(outside)} lies outside the edges "
                f"{edges[0]:g} to {edges[-1]:g}; widen them"
            )
        add_up = spread_over_bins if up_to else count_in_bins
        people, paid = (
            np.stack([add_up(scores[place == g], amount[place == g], edges) for g in range(len(names))])
            for amount in (counts, repaid)
        )
        rates, pooled = shrink(people, paid, o.shrinkage)
        if not o.per_group:
            rates = np.tile(pooled, (len(names), 1))
        self._remark(names, edges, people, rates)
        return names, edges, people, paid, rates, tuple(self.notes)

    def _groups(
        self, cells: NDArray[np.str_], counts: Float[Array, "N"]
    ) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """The groups' names in order, and the place of each row's group; -1: not wanted."""
        found, place = np.unique(cells, return_inverse=True)
        sizes = np.bincount(place, counts)
        if self.options.groups is None:
            if len(found) > _MANY_GROUPS:
                raise ValueError(
                    f"{self.origin}: there are {len(found)} different groups, such as {str(found[0])!r}; is that "
                    "the column of groups? If so, name the ones you want: groups=(...)"
                )
            order = np.argsort(-sizes, kind="stable")
        else:
            if isinstance(self.options.groups, str):
                raise TypeError(
                    f"groups must be a sequence of names, got {self.options.groups!r}; pass ({self.options.groups!r},)"
                )
            wanted = list(dict.fromkeys(self.options.groups))
            for name in wanted:
                if name not in found:
                    raise ValueError(
                        f"{self.origin} has no group {name!r}.{did_you_mean(name, found.tolist())}"
                    )
            if not wanted:
                raise ValueError("groups is empty; name at least one")
            order = np.array([int(np.flatnonzero(found == name)[0]) for name in wanted])
            left = [str(name) for name in found if name not in wanted]
            if left:
                self.notes.append(f"Left out: {', '.join(left)}.")
        ranks = np.full(len(found), -1)
        ranks[order] = np.arange(len(order))
        names = tuple(str(found[i]) for i in order)
        for name, size in zip(names, sizes[order], strict=True):
            if size <= 0:
                raise ValueError(f"{self.origin}: group {name!r} has no people; leave it out")
        return names, ranks[place]

    def _remark(self, names: Sequence[str], edges: Array, people: Array, rates: Array) -> None:
        """What is kept although one should know of it."""
        sizes, where = people.sum(1), labels(edges)
        if len(names) == 1:
            self.notes.append(f"There is one group only, {names[0]!r}, so there is nothing to compare.")
        lower = [name.lower() for name in names]
        for name in names:
            if lower.count(name.lower()) > 1:
                self.notes.append(f"Group {name!r} differs from another one by upper and lower case only.")
        for name, size, counts, rate in zip(names, sizes, people, rates, strict=True):
            if size < self.options.fewest:
                text = (
                    f"Group {name!r} has {size:.0f} people, fewer than {self.options.fewest}: "
                    "its figures are mostly chance, and its rates mostly those of all people."
                )
                self.notes.append(text)
                warnings.warn(text, stacklevel=5)
            falls = np.flatnonzero((np.diff(rate) < -1e-9) & (counts[1:] > 0) & (counts[:-1] > 0))
            if falls.size:
                worst = falls[np.diff(rate)[falls].argmin()]
                self.notes.append(
                    f"Repayment of {name!r} does not rise everywhere with the score: it falls in {falls.size} of "
                    f"{len(rate) - 1} steps, most from {rate[worst]:.3f} ({where[worst]}) to {rate[worst + 1]:.3f} "
                    f"({where[worst + 1]}). Kept as it is."
                )
        empty = int((people.sum(0) == 0).sum())
        if empty:
            self.notes.append(
                f"{empty} of {people.shape[1]} bins are empty at the start; their rates of repayment follow the "
                "trend over the scores."
            )
