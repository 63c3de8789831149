"""Fixed policies on a scenario: per group, and compared with the paper's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan

from rich.markup import escape
from rich.table import Table

from bisimulator import published
from bisimulator.evaluation import headlines
from bisimulator.metrics import column
from bisimulator.report.text import Summary, number, plain_table

PER_GROUP = (
    "approval_rate",
    "recall",
    "precision",
    "approvals",
    "return",
    "social_burden",
)
PER_GROUP_AT_ONCE = (
    "benefit_rate",
    "return",
    "sick_days",
    "incidents_seen",
    "incidents_missed",
    "accuracy",
    "eligible_burden",
    "social_burden",
)


def per_group_table(summaries: Mapping[str, Summary], groups: Sequence[str]) -> Table:
    first = next(iter(summaries.values()))
    wanted = PER_GROUP if "recall_g1" in first else PER_GROUP_AT_ONCE
    known = [metric for metric in wanted if f"{metric}_g1" in first]
    titles = [column(f"{metric}_g1").title.partition(",")[0] for metric in known]
    table = plain_table("Each group", ["policy"], ["group", *titles])
    for name, summary in summaries.items():
        for g, group in enumerate(groups, start=1):
            cells = [number(summary[f"{metric}_g{g}"][0]) for metric in known]
            table.add_row(name if g == 1 else "", escape(group), *cells)
        table.add_section()
    return table


def comparison_table(scenario: str, summaries: Mapping[str, Summary], rows: Sequence[str]) -> Table:
    """Our rows first, in the metrics of the paper's table for this scenario."""
    theirs = {method: published.row(scenario, method) for method in rows}
    ours = next(iter(summaries.values()))
    columns = list(dict.fromkeys(metric for row in theirs.values() for metric in row))
    columns = columns or headlines(ours)
    titles = [column(metric).head for metric in columns]
    what = "Compared with the paper" if theirs else "All groups together"
    table = plain_table(f"{what}, ± half width of the 95% interval", ["", "method"], titles)
    for where, group in (("here", summaries), ("paper", theirs)):
        for name, summary in group.items():
            table.add_row(where, name, *(number(*summary[metric]) for metric in columns))
        table.add_section()
    return table


def in_one_sentence(summaries: Mapping[str, Summary]) -> str:
    """The first policy against the last, each number with its interval."""
    (one, a), *_, (other, b) = summaries.items()
    compared = ("recall_gap" if "recall_gap" in a else "benefit_rate_gap", "credit_gap", "average_return")
    metrics = [metric for metric in compared if metric in a]
    differences = ", ".join(
        f"{column(metric).title} {number(*a[metric])} instead of {number(*b[metric])} "
        f"({_significance(a[metric], b[metric])})"
        for metric in metrics
    )
    return f"{one} instead of {other}: {differences}."


def _significance(ours: tuple[float, float], other: tuple[float, float]) -> str:
    """By whether the 95% intervals overlap; with one seed there are none."""
    if ours == other:
        return "the same"
    difference, width = ours[0] - other[0], ours[1] + other[1]
    if isnan(difference):
        return "unknown"
    if isnan(width):
        return "too few seeds to tell"
    if abs(difference) <= width:
        return "no significant difference"
    return f"significantly {'higher' if difference > 0 else 'lower'}"
