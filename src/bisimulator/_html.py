"""Small HTML for notebooks. Every text is escaped here, so callers pass names as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def html_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]], note: str = "") -> str:
    """A table with a title above and a note below; the first cell of each row is its heading.

    Args:
        title: what the table shows.
        head: one heading per column; empty for a table without a head.
        rows: the cells, one sequence per row.
        note: a sentence below the table.
    """
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in rows)
    return (
        f"<div><strong>{escape(title)}</strong><table>"
        + (f"<thead><tr>{heads}</tr></thead>" if head else "")
        + f"<tbody>{body}</tbody></table>"
        + (f"<p>{escape(note)}</p>" if note else "")
        + "</div>"
    )


def code_html(text: str) -> str:
    """A short text in the font of code."""
    return f"<code>{escape(text)}</code>"


def _cells(row: Sequence[str]) -> str:
    first, *others = row
    cells = "".join(f"<td>{escape(cell)}</td>" for cell in others)
    return f'<th style="text-align: left">{escape(first)}</th>{cells}'
