"""Small HTML tables for notebooks. Everything that comes from outside is escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence


def summary_html(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """Two columns, names and values; `title` is HTML."""
    return table_html(title, ["", "mean ± 95%"], [list(row) for row in rows])


def table_html(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table with a caption; `title` is HTML, cells are text."""
    heads = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><caption>{title}</caption><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
