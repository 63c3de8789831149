"""The short of an audit on the terminal, and its files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator import files
from bisimulator.audit.analysis import Audit
from bisimulator.audit.audit_page import GROUP_COLUMNS, cell, render
from bisimulator.audit.words import findings
from bisimulator.report.text import plain_table

TIME_COLUMNS = ("applications_per_person", "group", "approval_rate", "recall", "average_score")


def show_audit(found: Audit, out: Path, console: Console) -> None:
    """Print the short of it, and write the page and its tables."""
    console.print(group_table(found), "")
    for title, text in findings(found):
        console.print(f"[bold]{title}.[/bold] {escape(text)}", soft_wrap=True)
    for note in found.notes:
        console.print(f"Note: {note}", soft_wrap=True, markup=False)
    files.write_bytes(out / "index.html", render(found).encode())
    files.write_csv(out / "groups.csv", ("group", *GROUP_COLUMNS), _rows(found))
    files.write_csv(out / "over_time.csv", TIME_COLUMNS, _time_rows(found))
    written = ", ".join(str(out / name) for name in ("index.html", "groups.csv", "over_time.csv"))
    console.print(f"Written: {written}", soft_wrap=True, markup=False)


def group_table(found: Audit) -> Table:
    heads = [short for _, short in GROUP_COLUMNS.values()]
    table = plain_table(f"{escape(found.audited.name)}: each group", ["group"], heads)
    for g, name in enumerate(found.names):
        table.add_row(escape(name), *(cell(found, column, g).partition(" ")[0] for column in GROUP_COLUMNS))
    return table


def _rows(found: Audit) -> list[tuple[Any, ...]]:
    return [
        (name, *(repr(float(found.groups[column][0][g])) for column in GROUP_COLUMNS))
        for g, name in enumerate(found.names)
    ]


def _time_rows(found: Audit) -> list[tuple[Any, ...]]:
    course = found.course
    return [
        (f"{time:g}", name, *(repr(float(x)) for x in (rate[g], recall[g], score[g])))
        for time, rate, recall, score in zip(
            course.time, course.approval_rate, course.recall, course.score[1:], strict=True
        )
        for g, name in enumerate(found.names)
    ]
