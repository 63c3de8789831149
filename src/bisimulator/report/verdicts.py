"""Each published number against ours: matched, beaten or missed.

Both are taken as the paper prints them, mean and half width to two decimals. Matched: the 95% intervals overlap.
Beaten: they do not, and ours is better (a return or a recall higher; a gap, a spread or a burden lower). Missed: they
do not, and ours is worse. With one seed we have no interval, and our number itself must lie in the published one.

Few seeds have wide intervals, which overlap easily. So matched numbers come with how wide our intervals are compared
with the published ones, and with how many would be matched if ours were no wider.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from bisimulator import published
from bisimulator.jobs.store import Result
from bisimulator.report._by_scenario import ScenarioResults, by_scenario
from bisimulator.report._table_columns import DIGITS, direction

MATCHED, BEATEN, MISSED = "matched", "beaten", "missed"
NOT_RUN = "not run"


@dataclasses.dataclass(frozen=True)
class PaperComparison:
    """One number of the paper and ours."""

    scenario: str
    method: str  # as the paper calls it
    metric: str
    ours: tuple[float, float]  # mean, half width of the 95% interval
    theirs: published.Published

    @property
    def difference(self) -> float:
        return self.ours[0] - self.theirs.mean

    @property
    def verdict(self) -> str:
        if math.isnan(self.ours[0]):
            return MISSED
        mean, half, their_mean, their_half = map(_units, (*self.ours, *self.theirs))
        if abs(mean - their_mean) <= half + their_half:
            return MATCHED
        return BEATEN if (mean > their_mean) == (direction(self.metric) == "higher") else MISSED

    @property
    def within(self) -> bool:
        """Our mean itself lies in the published interval, which is stricter than an overlap."""
        return abs(_units(self.ours[0]) - _units(self.theirs.mean)) <= _units(self.theirs.ci95)

    @property
    def only_by_width(self) -> bool:
        """Matched, but not if our interval were no wider than the published one."""
        distance = abs(_units(self.ours[0]) - _units(self.theirs.mean))
        return self.verdict == MATCHED and distance > 2 * _units(self.theirs.ci95)

    @property
    def width_ratio(self) -> float:
        """Our interval's width in published widths; NaN if we have none, or the published one is printed as 0."""
        printed = _units(self.theirs.ci95)
        return self.ours[1] / self.theirs.ci95 if printed else math.nan


def _units(value: float) -> int:
    """In whole units of the last printed digit."""
    return 0 if math.isnan(value) else round(value * 10**DIGITS)


def compare_with_paper(results: Sequence[Result]) -> list[PaperComparison]:
    """Every published number that there is a result for, once each."""
    return [comparison for scenario in by_scenario(results) for comparison in compare_scenario(scenario)]


def compare_scenario(scenario: ScenarioResults) -> list[PaperComparison]:
    comparisons: dict[tuple[str, str], PaperComparison] = {}
    for entry in scenario.entries:
        for metric, theirs in entry.paper.items():
            ours = entry.result.summary[metric]
            comparison = PaperComparison(scenario.name, entry.published_name, metric, ours, theirs)
            comparisons.setdefault((entry.published_name, metric), comparison)
    return list(comparisons.values())


@dataclasses.dataclass(frozen=True)
class VerdictCounts:
    """How many published numbers are matched, beaten, missed and not run."""

    matched: int
    beaten: int
    missed: int
    not_run: int
    within: int  # of the matched ones, how many of our means lie in the published interval itself
    only_by_width: int  # of the matched ones, how many would not be if our intervals were no wider
    width: float  # the median of our intervals' widths in published widths; NaN if none is known

    @property
    def by_verdict(self) -> dict[str, int]:
        numbers = self.matched, self.beaten, self.missed, self.not_run
        return dict(zip((MATCHED, BEATEN, MISSED, NOT_RUN), numbers, strict=True))

    @property
    def total(self) -> int:
        return sum(self.by_verdict.values())


def count_verdicts(comparisons: Iterable[PaperComparison], scenario: str | None = None) -> VerdictCounts:
    """The counts for one scenario, or for all numbers in the paper."""
    expected = [key for key in published.results() if scenario in (None, key[0])]
    compared = [c for c in comparisons if scenario in (None, c.scenario)]
    counts = Counter(c.verdict for c in compared)
    within = sum(c.within for c in compared if c.verdict == MATCHED)
    not_run = len(expected) - len(compared)
    only_by_width = sum(c.only_by_width for c in compared)
    ratios = [c.width_ratio for c in compared if not math.isnan(c.width_ratio)]
    width = float(np.median(ratios)) if ratios else math.nan
    return VerdictCounts(
        counts[MATCHED], counts[BEATEN], counts[MISSED], not_run, within, only_by_width, width
    )
