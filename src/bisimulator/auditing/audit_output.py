"""An audit on the terminal, and its files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator import files
from bisimulator.auditing.analysis import AuditResult
from bisimulator.auditing.audit_page import GROUP_COLUMNS, cell
from bisimulator.auditing.decision_words import DECISION_COLUMNS, decision_rows
from bisimulator.auditing.drivers import drivers
from bisimulator.auditing.rejected_words import GAMMA_COLUMNS, gamma_rows
from bisimulator.auditing.summary_words import summary_note, summary_statements
from bisimulator.report.text import plain_table

TIME_COLUMNS = ("applications_per_person", "group", "approval_rate", "recall", "average_score")


def print_audit(result: AuditResult, console: Console) -> None:
    """Print the summary of an audit."""
    console.print(result.audited.description, soft_wrap=True, markup=False)
    console.print("What drives this audit:", soft_wrap=True)
    for driver in drivers(result.audited.people_env):
        console.print(f"- {driver.name}: {driver.value} ({driver.source}).", soft_wrap=True, markup=False)
    console.print("", group_table(result), "")
    for title, text in summary_statements(result):
        console.print(f"[bold]{title}.[/bold] {escape(text)}", soft_wrap=True)
    console.print(summary_note(result), soft_wrap=True, markup=False)
    for note in result.notes:
        console.print(f"Note: {note}", soft_wrap=True, markup=False)


def write_audit(result: AuditResult, page: str, folder: Path) -> list[Path]:
    """Write the page, as `render_audit` returns it, and the tables; returns the files written."""
    index = folder / "index.html"
    files.write_bytes(index, page.encode())
    written = [index]
    for name, (head, rows) in tables(result).items():
        files.write_csv(folder / f"{name}.csv", head, rows)
        written.append(folder / f"{name}.csv")
    return written


def tables(result: AuditResult) -> dict[str, tuple[Sequence[str], list[tuple[object, ...]]]]:
    """Heads and rows of the tables, by name."""
    halves = (f"{column}_half_width" for column in GROUP_COLUMNS)
    return {
        "groups": (("group", *GROUP_COLUMNS, *halves), _group_rows(result)),
        "over_time": (TIME_COLUMNS, _time_rows(result)),
        **({} if result.rejected is None else {"gamma": (GAMMA_COLUMNS, [*gamma_rows(result.rejected)])}),
        **{
            name: (DECISION_COLUMNS, decision_rows(alternative, result.table, result.env))
            for name, alternative in result.alternatives.items()
        },
    }


def group_table(result: AuditResult) -> Table:
    """Exact expectations of each group, or simulated means with 95% intervals."""
    kind = "exact" if result.is_exact else "simulated"
    heads = [short for _, short in GROUP_COLUMNS.values()]
    table = plain_table(f"{escape(result.audited.name)}: each group, {kind}", ["group"], heads)
    for g, name in enumerate(result.names):
        table.add_row(escape(name), *(cell(result, column, g) for column in GROUP_COLUMNS))
    return table


def _group_rows(result: AuditResult) -> list[tuple[object, ...]]:
    """Means, then half widths of their 95% intervals; these are empty for exact numbers."""
    rows: list[tuple[object, ...]] = []
    for g, name in enumerate(result.names):
        pairs = [(float(mean[g]), float(half[g])) for mean, half in (result.groups[c] for c in GROUP_COLUMNS)]
        halves = ("" if math.isnan(half) else half for _, half in pairs)
        rows.append((name, *(mean for mean, _ in pairs), *halves))
    return rows


def _time_rows(result: AuditResult) -> list[tuple[object, ...]]:
    trajectories = result.trajectories
    return [
        (float(time), name, *(float(x) for x in (rate[g], recall[g], score[g])))
        for time, rate, recall, score in zip(
            trajectories.time,
            trajectories.approval_rate,
            trajectories.recall,
            trajectories.score[1:],
            strict=True,
        )
        for g, name in enumerate(result.names)
    ]
