"""Rates per group from sums of moments, by the names under which they are logged and reported."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bisimulator.goals.moments import M

# numerator and denominator, columns of the moments
RATES: Mapping[str, tuple[int, int]] = {
    "approval": (M.APPROVED, M.APPLIED),
    "recall": (M.APPROVED_QUALIFIED, M.QUALIFIED),
    "return": (M.REWARD, M.PEOPLE),
}


def decision_moments(
    rewards: NDArray[np.generic],
    group: NDArray[np.int64],
    accepted: NDArray[np.float32] | None,
    qualified: NDArray[np.float32] | None,
    decisions_per_person: float,
) -> NDArray[np.float32]:
    """What each decision adds to its group's moments, (K, B, M): `goals.moments` for each kind of acceptance.

    `accepted` and `qualified` may be shares: a person who needs a lot and gets half of it. Approvals that are not known
    are NaN, so that no rate comes of them; decisions of group -1 count nothing.
    """
    number = len(group)
    kinds = np.full((1, number), np.nan) if accepted is None else accepted.reshape(number, -1).T
    moments = np.zeros((*kinds.shape, M.FINAL), np.float32)
    moments[..., M.REWARD], moments[..., M.PEOPLE] = rewards, 1.0 / decisions_per_person
    moments[..., M.APPLIED], moments[..., M.APPROVED] = 1.0, kinds
    if qualified is not None:
        moments[..., M.QUALIFIED], moments[..., M.APPROVED_QUALIFIED] = qualified, kinds * qualified
    moments[:, group < 0] = 0.0
    return moments


def rates(sums: NDArray[np.generic], name: str) -> NDArray[np.float64]:
    """One of `RATES` from sums (..., M); NaN where there is nothing to count."""
    part, whole = (np.asarray(sums[..., column], np.float64) for column in RATES[name])
    values: NDArray[np.float64] = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
    return values


def gap(values: NDArray[np.float64]) -> float:
    """The largest difference between two groups, without those of which nothing is known; NaN if that is all."""
    known = values[~np.isnan(values)]
    return float(np.ptp(known)) if known.size else np.nan
