"""An audit on the terminal, and its files."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator import files
from bisimulator.audit.analysis import AuditResult
from bisimulator.audit.audit_page import GROUP_COLUMNS, cell, render_audit
from bisimulator.audit.words import summary_note, summary_statements
from bisimulator.report.text import plain_table

TIME_COLUMNS = ("applications_per_person", "group", "approval_rate", "recall", "average_score")


def print_audit(result: AuditResult, console: Console) -> None:
    """Print the summary of an audit."""
    console.print(group_table(result), "")
    for title, text in summary_statements(result):
        console.print(f"[bold]{title}.[/bold] {escape(text)}", soft_wrap=True)
    console.print(summary_note(result), soft_wrap=True, markup=False)
    for note in result.notes:
        console.print(f"Note: {note}", soft_wrap=True, markup=False)


def write_audit(result: AuditResult, folder: Path) -> list[Path]:
    """Write the page and its tables; returns the files written."""
    page, groups, over_time = (folder / name for name in ("index.html", "groups.csv", "over_time.csv"))
    files.write_bytes(page, render_audit(result).encode())
    files.write_csv(groups, ("group", *GROUP_COLUMNS), _group_rows(result))
    files.write_csv(over_time, TIME_COLUMNS, _time_rows(result))
    return [page, groups, over_time]


def group_table(result: AuditResult) -> Table:
    """Simulated means of each group, with 95% intervals where they are known."""
    heads = [short for _, short in GROUP_COLUMNS.values()]
    table = plain_table(f"{escape(result.audited.name)}: each group, simulated", ["group"], heads)
    for g, name in enumerate(result.names):
        table.add_row(escape(name), *(cell(result, column, g) for column in GROUP_COLUMNS))
    return table


def _group_rows(result: AuditResult) -> list[tuple[object, ...]]:
    return [
        (name, *(repr(float(result.groups[column][0][g])) for column in GROUP_COLUMNS))
        for g, name in enumerate(result.names)
    ]


def _time_rows(result: AuditResult) -> list[tuple[object, ...]]:
    trajectories = result.trajectories
    return [
        (f"{time:g}", name, *(repr(float(x)) for x in (rate[g], recall[g], score[g])))
        for time, rate, recall, score in zip(
            trajectories.time,
            trajectories.approval_rate,
            trajectories.recall,
            trajectories.score[1:],
            strict=True,
        )
        for g, name in enumerate(result.names)
    ]
