"""More than means: interquartile means, and differences against plain PPO seed by seed, said in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bisimulator.evaluation import intervals as stats
from bisimulator.evaluation.intervals import Interval
from bisimulator.jobs.run import Result
from bisimulator.report._by_scenario import Entry, scenes
from bisimulator.report._table_columns import DIGITS

BASELINE = "PPO"  # what differences are taken against
CSV_COLUMNS = (
    "scenario",
    "method",
    "metric",
    "iqm",
    "iqm_low",
    "iqm_high",
    "minus_ppo",
    "minus_ppo_low",
    "minus_ppo_high",
    "significance",
)


def iqm(entry: Entry, column: str) -> Interval:
    """Interquartile mean over seeds with its bootstrap interval, the same each time."""
    return stats.iqm_interval(entry.per_seed(column), np.random.default_rng(0))


def against(entry: Entry, base: Entry, column: str) -> Interval:
    """entry - base over the seeds that both have."""
    ours, theirs = (dict(zip(e.result.spec.seeds, e.per_seed(column), strict=True)) for e in (entry, base))
    common = [seed for seed in ours if seed in theirs]
    return stats.paired_difference([ours[s] for s in common], [theirs[s] for s in common])


def in_short(difference: Interval) -> str:
    """What an interval of a difference says, in a few words."""
    estimate, low, high = difference
    if np.isnan(estimate):
        return "unknown"
    if np.isnan(low):
        return "one pair of seeds, cannot tell"
    if estimate == low == high == 0:
        return "the same with every seed"
    if low <= 0 <= high:
        return "no significant difference"
    return f"significantly {'higher' if estimate > 0 else 'lower'}"


def show(interval: Interval, *, sign: bool = False) -> str:
    """3572.32 (3510.10 to 3620.44); small numbers with a digit more."""
    if np.isnan(interval.estimate):
        return "-"
    digits = DIGITS if np.nanmax(np.abs(interval)) >= 10 else DIGITS + 1
    estimate, low, high = (f"{value:{'+' if sign else ''}.{digits}f}" for value in interval)
    return estimate if np.isnan(interval.low) else f"{estimate} ({low} to {high})"


def difference_text(difference: Interval) -> str:
    """-0.62 (-0.67 to -0.57), significantly lower"""
    return f"{show(difference, sign=True)}, {in_short(difference)}"


def csv_rows(results: Sequence[Result]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for scene in scenes(results):
        base = scene.find(BASELINE)
        for entry in scene.entries:
            for column in scene.columns:
                told: tuple[object, ...] = ("", "", "", "")
                if base is not None and entry is not base:
                    difference = against(entry, base, column)
                    told = (*difference, in_short(difference))
                rows.append((scene.scenario, entry.label, column, *iqm(entry, column), *told))
    return rows
