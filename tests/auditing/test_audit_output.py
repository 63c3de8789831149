"""What is printed of an audit, and its files."""

import csv
import io

import pytest
from rich.console import Console

from bisimulator.auditing.audit_output import TIME_COLUMNS, print_audit, write_audit
from bisimulator.auditing.audit_page import GROUP_COLUMNS, cell
from bisimulator.auditing.summary_words import summary_note, summary_statements

FILES = ("index.html", "groups.csv", "over_time.csv", "fairer_policy.csv")


@pytest.fixture(scope="module")
def printed(result):
    console = Console(file=io.StringIO(), width=200)
    print_audit(result, console)
    return console.file.getvalue()


def test_the_table_has_the_numbers_of_the_page(printed, result):
    assert "each group, exact" in printed
    lines = [line for line in printed.splitlines() if line.startswith(("<b>up</b> ", "down "))]
    for g, line in enumerate(lines):
        cells = [cell(result, column, g) for column in GROUP_COLUMNS]
        assert line.split() == [result.names[g], *" ".join(cells).split()]


def test_statements_and_notes_are_printed(printed, result):
    for title, text in summary_statements(result):
        assert f"{title}. {text}" in printed
    assert summary_note(result) in printed
    assert "Note: First & last." in printed


def test_printing_writes_nothing_and_writing_prints_nothing(result, page, tmp_path, capsys):
    paths = write_audit(result, page, tmp_path / "audit")
    assert paths == [tmp_path / "audit" / name for name in FILES]
    assert paths[0].read_text(encoding="utf-8") == page
    assert capsys.readouterr().out == ""


def test_tables_are_read_as_csv(result, page, tmp_path):
    _, groups, over_time, decisions = write_audit(result, page, tmp_path)
    with groups.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["group"] for row in rows] == list(result.names)
    assert [float(row["recall"]) for row in rows] == result.groups["recall"][0].tolist()
    assert {row["recall_half_width"] for row in rows} == {""}  # exact numbers
    with over_time.open(encoding="utf-8") as file:
        reader = csv.DictReader(file)
        assert tuple(reader.fieldnames) == TIME_COLUMNS
        assert len(list(reader)) == 2 * 25
    with decisions.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["accept"]) for row in rows] == result.fairer.table.ravel().tolist()
    assert [float(row["accept_audited"]) for row in rows] == result.table.ravel().tolist()
