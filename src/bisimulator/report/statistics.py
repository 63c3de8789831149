"""Statistics over seeds: interquartile means, and differences from plain PPO paired by seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bisimulator.evaluation import intervals, seed_means
from bisimulator.evaluation.intervals import Interval
from bisimulator.jobs.store import Result
from bisimulator.report._by_scenario import JobEntry, by_scenario
from bisimulator.report._table_columns import DIGITS, title

BASELINE = "PPO"  # the method, as the paper calls it, from which differences are taken
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


def iqm(entry: JobEntry, column: str) -> Interval:
    """Interquartile mean over seeds with its bootstrap interval, which is the same each time."""
    return intervals.iqm_interval(entry.per_seed(column), np.random.default_rng(0))


def paired_difference(result: Result, base: Result, column: str) -> Interval:
    """result - base over the seeds that both have; NaN if there are none."""
    ours, theirs = (
        dict(zip(r.spec.seeds, seed_means(r.columns[column]), strict=True)) for r in (result, base)
    )
    common = [seed for seed in ours if seed in theirs]
    return intervals.paired_difference([ours[s] for s in common], [theirs[s] for s in common])


def significance(difference: Interval) -> str:
    """What the interval of a difference says, in a few words."""
    estimate, low, high = difference
    if np.isnan(estimate):
        return "unknown"
    if np.isnan(low):
        return "too few seeds to tell"
    if estimate == low == high == 0:
        return "the same with every seed"
    if low <= 0 <= high:
        return "no significant difference"
    return f"significantly {'higher' if estimate > 0 else 'lower'}"


def interval_text(interval: Interval, *, sign: bool = False) -> str:
    """3572.32 (3510.10 to 3620.44); small numbers have one more digit."""
    if np.isnan(interval.estimate):
        return "-"
    digits = DIGITS if np.nanmax(np.abs(interval)) >= 10 else DIGITS + 1
    estimate, low, high = (f"{value:{'+' if sign else ''}.{digits}f}" for value in interval)
    return estimate if np.isnan(interval.low) else f"{estimate} ({low} to {high})"


def difference_text(difference: Interval) -> str:
    """-0.62 (-0.67 to -0.57), significantly lower"""
    return f"{interval_text(difference, sign=True)}, {significance(difference)}"


def differences_in_words(
    result: Result, base: Result, columns: Sequence[str], show: Callable[[float, float], str]
) -> str:
    """recall gap 0.05 ± 0.01 instead of 0.50 ± 0.02 (significantly lower), ...; `show(mean, half width)`."""
    return ", ".join(
        f"{title(column)} {show(*result.summary[column])} instead of {show(*base.summary[column])} "
        f"({_change(result, base, column)}{significance(paired_difference(result, base, column))})"
        for column in columns
    )


def _change(result: Result, base: Result, column: str) -> str:
    """By how much a return differs, in percent; nothing for other metrics."""
    before, after = base.summary[column][0], result.summary[column][0]
    if column != "average_return" or not before > 0 or before == after or np.isnan(after):
        return ""
    return f"{abs(after / before - 1):.1%} {'more' if after > before else 'less'}, "


def csv_rows(results: Sequence[Result]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for scenario in by_scenario(results):
        base = scenario.find(BASELINE)
        for entry in scenario.entries:
            for column in scenario.columns:
                compared: tuple[object, ...] = ("", "", "", "")
                if base is not None and entry is not base:
                    difference = paired_difference(entry.result, base.result, column)
                    compared = (*difference, significance(difference))
                rows.append((scenario.name, entry.label, column, *iqm(entry, column), *compared))
    return rows
