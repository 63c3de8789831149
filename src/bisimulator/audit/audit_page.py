"""The HTML page of an audit: one file that loads nothing and runs no script; names from outside are escaped."""

from __future__ import annotations

import math
from importlib import resources

from bisimulator.audit import words
from bisimulator.audit._figures import svg_figures
from bisimulator.audit.analysis import AuditResult, PolicyRow
from bisimulator.evaluation.certify import Estimate
from bisimulator.exact.certificate import HORIZONS, SIGNALS
from bisimulator.report.report_page import made_with
from bisimulator.report.text import number

# column of each group -> its title on the page and, shorter, on the terminal
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


def render_audit(result: AuditResult) -> str:
    """The page, as HTML."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    template = (
        resources.files("bisimulator.report")
        .joinpath("templates", "audit.html.j2")
        .read_text(encoding="utf-8")
    )
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(template).render(
        name=result.audited.name,
        description=result.audited.description,
        people=result.people,
        statements=words.summary_statements(result),
        summary_note=words.summary_note(result),
        columns=[title for title, _ in GROUP_COLUMNS.values()],
        groups=group_rows(result),
        names=result.names,
        certificate=certificate_rows(result),
        certificate_sentences=words.certificate_sentences(result),
        policies=[policy_cells(row) for row in (result.row, *result.simple)],
        frontier_sentences=words.frontier_sentences(),
        figures={name: Markup(svg) for name, svg in svg_figures(result).items()},
        is_exact=result.is_exact,
        settings=settings(result),
        notes=result.notes,
        assumptions=words.assumptions(result),
        caveats=words.caveats(),
        made_with=made_with(),
    )


def cell(result: AuditResult, column: str, g: int) -> str:
    mean, half = (float(values[g]) for values in result.groups[column])
    if math.isnan(mean):
        return "-"
    if column not in _SHARES:
        return f"{mean:.0f}" if column.startswith("score") and mean >= 100 else f"{mean:.2f}"
    return f"{100 * mean:.1f}%" + ("" if math.isnan(half) else f" ± {100 * half:.1f}")


def group_rows(result: AuditResult) -> list[tuple[str, list[str]]]:
    return [
        (name, [cell(result, column, g) for column in GROUP_COLUMNS]) for g, name in enumerate(result.names)
    ]


def certificate_rows(result: AuditResult) -> dict[str, list[tuple[str, list[str]]]]:
    """By horizon: what is summed, its value per group, the largest difference, and that of matched people."""
    if isinstance(result.certificate, Estimate):
        return {}
    rows: dict[str, list[tuple[str, list[str]]]] = {}
    for horizon in ("episode", "discounted"):
        for signal in ("loans", "repaid", "reward"):
            entry = result.certificate.entries.get((signal, horizon))
            if entry is not None:
                cells = [
                    *(number(float(value)) for value in entry.values),
                    number(entry.gap),
                    number(entry.bound),
                ]
                rows.setdefault(HORIZONS[horizon], []).append((SIGNALS[signal], cells))
    return rows


def policy_cells(row: PolicyRow) -> tuple[str, list[str]]:
    return row.name, [
        f"{row.earned:,.0f}",
        f"{100 * row.smallest_recall:.1f}%",
        "-" if math.isnan(row.acceptance_ratio) else f"{row.acceptance_ratio:.2f}",
        number(row.score_gap),
    ]


def settings(result: AuditResult) -> dict[str, str]:
    env, (seeds, episodes) = result.env, result.episodes
    return {
        "people in the simulation": f"{env.params.population:,}",
        "decisions, one person each": f"{env.horizon:,}",
        "applications per person": f"{env.horizon / env.params.population:g}",
        "simulated": f"{seeds} seeds x {episodes} episodes; ± is the half width of the 95% interval over seeds",
    }
