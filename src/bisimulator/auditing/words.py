"""Numbers as the page writes them."""

from __future__ import annotations

import math
from typing import TypeAlias

FOUR_FIFTHS = 0.8  # of the highest acceptance rate: a rule of thumb for adverse impact

Statement: TypeAlias = tuple[str, str]  # title, text


def plus_minus(half: float, form: str, unit: str = "") -> str:
    """` ± 0.3`, or nothing if there is no interval."""
    return "" if math.isnan(half) else f" ± {half:{form}}{unit}"


def score_form(score: float) -> str:
    """The digits of an average score: none where the scale has hundreds of points."""
    return ".0f" if score >= 100 else ".2f"


def percent(share: float) -> str:
    """Without decimals, but 0.4% and 99.6% are not rounded to all or nothing."""
    return f"{100 * share:.1f}%" if 0 < share < 0.1 or 0.9 < share < 1 else f"{100 * share:.0f}%"
