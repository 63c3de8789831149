"""The page of an audit: one file, nothing from the network, no scripts; what comes from outside is escaped."""

from __future__ import annotations

import math
from importlib import resources
from typing import Any

from bisimulator.audit import words
from bisimulator.audit._figures import pictures
from bisimulator.audit.analysis import Audit, Row
from bisimulator.evaluation.certify import Estimate
from bisimulator.exact.certificate import HORIZONS, SIGNALS
from bisimulator.report.report_page import made_with
from bisimulator.report.text import number

# of each group: what it is called on the page and, shorter, on the terminal
GROUP_COLUMNS = {
    "share": ("share of people", "share"),
    "score_start": ("average score at the start", "score"),
    "score_end": ("average score at the end", "at end"),
    "approval_rate": ("accepted, of all applications", "accepted"),
    "recall": ("accepted, of repayers' applications", "of repayers"),
    "precision": ("repaid, of accepted", "repaid"),
    "loans": ("loans per person", "loans"),
}
_SHARES = {"share", "approval_rate", "recall", "precision"}


def render(found: Audit) -> str:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    template = (
        resources.files("bisimulator.report")
        .joinpath("templates", "audit.html.j2")
        .read_text(encoding="utf-8")
    )
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(template).render(
        name=found.audited.name,
        what=found.audited.words,
        people=found.people,
        findings=words.findings(found),
        columns=[title for title, _ in GROUP_COLUMNS.values()],
        groups=group_rows(found),
        names=found.names,
        certificate=certificate_rows(found),
        certificate_words=words.certificate_words(found),
        policies=[policy_cells(row) for row in (found.row, *found.simple)],
        frontier_words=words.frontier_words(found),
        pictures={name: Markup(picture) for name, picture in pictures(found).items()},
        is_exact=found.is_exact,
        settings=settings(found),
        notes=found.notes,
        assumptions=words.assumptions(found),
        caveats=words.caveats(),
        made_with=made_with(),
    )


def cell(found: Audit, column: str, g: int) -> str:
    mean, half = (float(values[g]) for values in found.groups[column])
    if math.isnan(mean):
        return "-"
    if column not in _SHARES:
        return f"{mean:.0f}" if column.startswith("score") and mean >= 100 else f"{mean:.2f}"
    return f"{100 * mean:.1f}%" + ("" if math.isnan(half) else f" ± {100 * half:.1f}")


def group_rows(found: Audit) -> list[tuple[str, list[str]]]:
    return [
        (name, [cell(found, column, g) for column in GROUP_COLUMNS]) for g, name in enumerate(found.names)
    ]


def certificate_rows(found: Audit) -> dict[str, list[tuple[str, list[str]]]]:
    """By horizon: what adds up, and per group, the largest difference, and that of matched people."""
    if isinstance(found.certificate, Estimate):
        return {}
    rows: dict[str, list[tuple[str, list[str]]]] = {}
    for horizon in ("episode", "discounted"):
        for signal in ("loans", "repaid", "reward"):
            view = found.certificate.entries.get((signal, horizon))
            if view is not None:
                cells = [
                    *(number(float(value)) for value in view.values),
                    number(view.gap),
                    number(view.bound),
                ]
                rows.setdefault(HORIZONS[horizon], []).append((SIGNALS[signal], cells))
    return rows


def policy_cells(row: Row) -> tuple[str, list[str]]:
    return row.name, [
        f"{row.earned:,.0f}",
        f"{100 * row.smallest_recall:.1f}%",
        "-" if math.isnan(row.acceptance_ratio) else f"{row.acceptance_ratio:.2f}",
        number(row.score_gap),
    ]


def settings(found: Audit) -> dict[str, Any]:
    p, (seeds, episodes) = found.env.params, found.episodes
    return {
        "people in the simulation": f"{p.population:,}",
        "decisions, one person each": f"{int(p.horizon):,}",
        "applications of an average person": f"{int(p.horizon) / p.population:g}",
        "simulated": f"{seeds} seeds x {episodes} episodes; ± is the half width of the 95% interval over seeds",
    }
