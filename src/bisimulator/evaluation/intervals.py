"""Statistics over seeds: means, interquartile means and paired differences with 95% intervals.

All functions take one number per seed; a seed without one (NaN) is left out. With fewer than two seeds there is no
interval (NaN).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy import stats

from bisimulator._html import code_html
from bisimulator.core import Values

_CONFIDENCE = 0.95
_RESAMPLES = 2000


class Interval(NamedTuple):
    """An estimate with its 95% interval; `low` and `high` are NaN if there is none.

    Example:
        >>> mean_interval([1.0, 2.0, 3.0])
        Interval(2, 95% -0.4841 to 4.484)
    """

    estimate: float
    low: float
    high: float

    def __repr__(self) -> str:
        interval = "no interval" if np.isnan(self.low) else f"95% {self.low:.4g} to {self.high:.4g}"
        return f"Interval({self.estimate:.4g}, {interval})"

    def _repr_html_(self) -> str:
        return code_html(repr(self))


def mean_interval(values: ArrayLike) -> Interval:
    """The mean, with Student's interval."""
    mean, half = mean_and_half_width(values)
    return Interval(mean, mean - half, mean + half)


def mean_and_half_width(values: ArrayLike) -> tuple[float, float]:
    """The mean, and half the width of Student's interval around it."""
    known = _known(values)
    if known.size < 2:
        return float(known[0]) if known.size else np.nan, np.nan
    error = known.std(ddof=1) / np.sqrt(known.size)
    return float(known.mean()), float(stats.t.ppf((1 + _CONFIDENCE) / 2, known.size - 1) * error)


def standard_error(half_width: float, size: int) -> float:
    """The standard error of a mean of `size` values, from half the width of Student's interval around it."""
    return float(half_width / stats.t.ppf((1 + _CONFIDENCE) / 2, size - 1)) if size > 1 else np.nan


def iqm_interval(values: ArrayLike, rng: np.random.Generator) -> Interval:
    """The interquartile mean, which is robust to single outliers, with its percentile bootstrap interval."""
    known = _known(values)
    if known.size == 0:
        return Interval(np.nan, np.nan, np.nan)
    estimate = float(stats.trim_mean(known, 0.25))
    if known.size == 1:
        return Interval(estimate, np.nan, np.nan)
    resampled = rng.choice(known, (_RESAMPLES, known.size))
    outside = 100 * (1 - _CONFIDENCE) / 2
    low, high = np.percentile(stats.trim_mean(resampled, 0.25, axis=1), [outside, 100 - outside])
    return Interval(estimate, float(low), float(high))


def paired_difference(a: ArrayLike, b: ArrayLike) -> Interval:
    """The mean of a - b over seeds, with Student's interval.

    What both share per seed, such as the evaluation episodes, cancels, so the interval is narrower than that of two
    separate means.
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if first.shape != second.shape:
        raise ValueError(
            f"a and b must have the same shape, one number per seed, got {first.shape} and {second.shape}"
        )
    return mean_interval(first - second)


def seed_means(values: Float[Values, "S E"]) -> Float[Values, "S"]:
    """The mean over each seed's episodes, without undefined ones (NaN); NaN if all of them are undefined."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means: Values = np.where(known, values, 0.0).sum(1) / known.sum(1)
    return means


def mean_and_interval(values: Float[Values, "S E"]) -> tuple[float, float]:
    """Mean and half width of Student's 95% interval over seeds, each seed being the mean of its episodes.

    An undefined episode (NaN) is left out; with one seed there is no interval (NaN).
    """
    return mean_and_half_width(seed_means(values))


def _known(values: ArrayLike) -> Float[Values, "S"]:
    array = np.asarray(values, np.float64)
    if array.ndim != 1:
        raise ValueError(
            f"values must be one number per seed, got shape {array.shape}; average over episodes first (seed_means)"
        )
    return array[~np.isnan(array)]
