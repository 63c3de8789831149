"""What the columns of a table are called, which way each of them is better, and which ones the paper has."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from bisimulator import published, registry
from bisimulator.core import Direction
from bisimulator.evaluation import headlines
from bisimulator.jobs.spec import Spec, default_view
from bisimulator.metrics import column

CLOSE_TO_BEST = 0.05  # the paper highlights values within 5% of the best
DIGITS = 2  # as many as the paper prints


def paper_columns(scenario: str) -> list[str]:
    """The metrics of the paper's table of a scenario, in its order; none where the paper has no table."""
    rows = [published.row(scenario, method) for method in published.methods(scenario)]
    return list(dict.fromkeys(metric for row in rows for metric in row))


def table_columns(scenario: str, known: Sequence[str]) -> list[str]:
    """The metrics of the paper's table; a few that all have where there is none, or where it leaves groups out."""
    paper = paper_columns(scenario)
    named = group_recalls(paper)
    if paper and (not named or named == group_recalls(known)):
        return paper
    return headlines(known)


def group_recalls(columns: Iterable[str]) -> list[str]:
    """Those that are the recall of one group, in the order of groups."""
    return sorted((c for c in columns if re.fullmatch(r"recall_g\d+", c)), key=lambda c: int(c[8:]))


def published_name(method: str) -> str:
    """The method's name in the paper's tables, or nothing."""
    name: str = registry.lookup("method", method).published
    return name


def published_row(spec: Spec) -> dict[str, published.Published]:
    """The row that the paper has for a job's scenario and method, whatever the settings; it has none with a goal."""
    return {} if spec.goal else published.row(spec.scenario, published_name(spec.method))


def paper_row(spec: Spec) -> dict[str, published.Published]:
    """A job's row in the paper; nothing with other settings, or in a view that is neither its nor the default."""
    views = ("queue", default_view(spec.scenario, spec.method))
    return {} if spec.settings or spec.view not in views else published_row(spec)


def title(name: str) -> str:
    """In words: `recall_g2` is "recall, group 2"."""
    return column(name).title


def heading(name: str) -> str:
    text = title(name)
    return text[:1].upper() + text[1:]


def short_title(name: str) -> str:
    """As narrow as the paper's heads: `social_burden_g2` is "burden g2"."""
    return column(name).head


def direction(name: str) -> Direction:
    """ "higher", "lower", or "" if neither is better."""
    return column(name).direction


def bounds(name: str) -> tuple[float | None, float | None]:
    """What no value is below and above."""
    return column(name).bounds


def best_range(name: str, values: Sequence[float]) -> tuple[float, float]:
    """The range of values to highlight: the best one and all within 5% of it. An unknown value is never the best."""
    known = [v for v in values if not math.isnan(v)]
    if not known or not direction(name):
        return math.inf, -math.inf
    best = max(known) if direction(name) == "higher" else min(known)
    return best - CLOSE_TO_BEST * abs(best), best + CLOSE_TO_BEST * abs(best)


def printed(mean: float, half: float = math.nan) -> str:
    """A number as the paper prints it: 3582.63 ± 53.71."""
    if math.isnan(mean):
        return "-"
    return f"{mean:.{DIGITS}f}" + ("" if math.isnan(half) else f" ± {half:.{DIGITS}f}")
