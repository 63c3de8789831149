"""The HTML page of an audit: one file that loads nothing and runs no script; names from outside are escaped."""

from __future__ import annotations

import math

import numpy as np

from bisimulator.auditing import section_words, summary_words
from bisimulator.auditing._figures import legend, svg_figures
from bisimulator.auditing.analysis import AuditResult
from bisimulator.auditing.decision_words import rule_in_words
from bisimulator.auditing.drivers import drivers
from bisimulator.auditing.group_numbers import PolicyRow
from bisimulator.auditing.rejected_words import gamma_rows, open_range, rejected_sentences
from bisimulator.auditing.sensitivity import findings_in_words, looked_at
from bisimulator.auditing.words import plus_minus, score_form
from bisimulator.evaluation.certify import Estimate
from bisimulator.exact.certificate import HORIZONS, SIGNALS
from bisimulator.report.report_page import made_with, page_template
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
    from markupsafe import Markup

    return page_template("audit.html.j2").render(
        name=result.audited.name,
        description=result.audited.description,
        people=result.people,
        drivers=drivers(result.audited.people_env),
        statements=summary_words.summary_statements(result),
        summary_note=summary_words.summary_note(result),
        columns=[title for title, _ in GROUP_COLUMNS.values()],
        groups=group_rows(result),
        names=result.names,
        certificate=certificate_rows(result),
        certificate_sentences=section_words.certificate_sentences(result),
        policies=policy_rows(result),
        alternatives=alternative_rows(result),
        frontier_sentences=section_words.frontier_sentences(),
        figures={name: [Markup(svg) for svg in panels] for name, panels in svg_figures(result).items()},
        legend=legend(result),
        rejected_sentences=rejected_sentences(result),
        findings=sensitivity_sentences(result),
        looked_at=looked_at(result.sweeps),
        gammas=gamma_cells(result),
        is_exact=result.is_exact,
        settings=settings(result),
        notes=result.notes,
        assumptions=section_words.assumptions(result),
        caveats=section_words.caveats(),
        made_with=made_with(),
    )


def sensitivity_sentences(result: AuditResult) -> list[str]:
    """For which values of the assumptions the findings hold."""
    if not result.sweeps:
        return []
    return findings_in_words(result.sweeps, float(np.ptp(result.start_scores)), len(result.names))


def cell(result: AuditResult, column: str, g: int) -> str:
    mean, half = (float(values[g]) for values in result.groups[column])
    if math.isnan(mean):
        return "-"
    if column in _SHARES:
        return f"{100 * mean:.1f}%" + plus_minus(100 * half, ".1f")
    digits = _form(column, mean)
    return f"{mean:{digits}}" + plus_minus(half, digits)


def _form(column: str, value: float) -> str:
    return ".1%" if column in _SHARES else score_form(value) if column.startswith("score") else ".2f"


def cell_range(result: AuditResult, column: str, g: int) -> str:
    """What the cell's number becomes over gamma; empty if it stays."""
    form = _form(column, float(result.groups[column][0][g]))
    return open_range(result, column, g, form).strip(" ()")


def group_rows(result: AuditResult) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (name, [(cell(result, column, g), cell_range(result, column, g)) for column in GROUP_COLUMNS])
        for g, name in enumerate(result.names)
    ]


def gamma_cells(result: AuditResult) -> list[tuple[str, list[str]]]:
    if result.rejected is None:
        return []
    return [
        (f"{gamma:g}", [*(f"{x:,.0f}" for x in money), f"{recall:.1%}", f"{ratio:.2f}"])
        for gamma, *money, recall, ratio in gamma_rows(result.rejected)
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


def named_rows(result: AuditResult) -> list[PolicyRow]:
    return [alternative.row for alternative in result.alternatives.values()]


def alternative_rows(result: AuditResult) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Of each policy that the page names: its name, its file, and whom it accepts of each group."""
    return [
        (
            alternative.row.name,
            f"{name}.csv",
            [
                (group, rule_in_words(row, alternative.env))
                for group, row in zip(result.names, alternative.table, strict=True)
            ],
        )
        for name, alternative in result.alternatives.items()
    ]


def policy_rows(result: AuditResult) -> list[tuple[str, list[str]]]:
    form = score_form(float(result.start_scores.min()))
    return [
        (
            row.name,
            [
                f"{row.earned:,.0f}",
                f"{100 * row.smallest_recall:.1f}%",
                "-" if math.isnan(row.acceptance_ratio) else f"{row.acceptance_ratio:.2f}",
                f"{row.score_gap:{form}}",
            ],
        )
        for row in (result.row, *named_rows(result), *result.simple)
    ]


def settings(result: AuditResult) -> dict[str, str]:
    env, evaluation = result.env, result.consequences.evaluation
    computed = "exactly, without simulation"
    if evaluation is not None:
        seeds, episodes = evaluation.outcome.counts.shape[:2]
        computed = f"{seeds} simulated seeds x {episodes} episodes; ± is the half width of the 95% interval over seeds"
    return {
        "people": f"{env.params.population:,}",
        "decisions, one person each": f"{env.horizon:,}",
        "computed": computed,
    }
