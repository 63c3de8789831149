"""Each published number against ours: matched, beaten or missed.

Both are taken as the paper prints them, mean and half width to two decimals. Matched: the 95% intervals overlap.
Beaten: they do not, and ours is better (a return or a recall higher; a gap, a spread or a burden lower). Missed: they
do not, and ours is worse. With one seed we have no interval, and our number itself must lie in the published one.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence

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
    return VerdictCounts(counts[MATCHED], counts[BEATEN], counts[MISSED], not_run, within)
