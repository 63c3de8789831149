"""What the page shows for one scenario: sentences, tables, figures and the configuration of every job."""

from __future__ import annotations

import json
from typing import TypeAlias

from bisimulator.jobs.references import Reference
from bisimulator.report import _charts as charts
from bisimulator.report import statistics, tables
from bisimulator.report._by_scenario import JobEntry, ScenarioResults
from bisimulator.report._table_columns import DIGITS, heading, printed, short_title
from bisimulator.report.figures._canvas import labelled_groups
from bisimulator.report.figures.recall_by_group import MANY
from bisimulator.report.figures.tradeoff import gaps, notes
from bisimulator.report.paper_points import REGRET_NOTE, PaperPoints, point_grid, runs_in_words
from bisimulator.report.sentences import scenario_sentences
from bisimulator.report.verdicts import BEATEN, MATCHED, MISSED, compare_scenario

MARKS = {MATCHED: "✓", BEATEN: "★", MISSED: "✗"}  # colour alone is not enough for everybody
ChartList: TypeAlias = list[charts.Chart]  # all charts of the page; a figure refers to one by its index
Fields: TypeAlias = dict[str, object]  # for the template


def section(
    scenario: ScenarioResults,
    identity: str,
    collected: ChartList,
    reference: Reference,
    points: PaperPoints | None = None,
) -> Fields:
    """Everything that the template needs; charts are appended to `collected`."""
    grid = tables.paper_grid(scenario)
    compared = {(c.method, c.metric): c for c in compare_scenario(scenario)}

    def cell(row: int, column: int, entry: JobEntry, metric: str) -> Fields:
        mean, _ = entry.result.summary[metric]
        c = compared.get((entry.published_name, metric)) if entry.paper else None
        return {
            "text": grid.rows[row][column],
            "value": repr(mean),
            "best": (row, column) in grid.bold,
            "paper": printed(*c.theirs) if c else "",
            "difference": f"{tables.signed(c.difference)} {MARKS[c.verdict]}" if c else "",
            "verdict": c.verdict if c else "",
        }

    methods = [
        {
            "key": entry.key,
            "label": entry.label,
            "cells": [cell(r, c + 1, entry, metric) for c, metric in enumerate(scenario.columns)],
            **_configuration(entry),
        }
        for r, entry in enumerate(scenario.entries)
    ]
    return {
        "id": identity,
        "name": scenario.name,
        "summary": _summary(scenario),
        "sentences": scenario_sentences(scenario),
        "methods": methods,
        "heads": grid.head[1:],
        "caption": tables.caption(scenario),
        "has_paper": bool(compared),
        "missing": tables.missing_note(scenario),
        "tradeoff": _add(collected, charts.tradeoff(scenario, reference)),
        "tradeoff_notes": notes(gaps(scenario), reference),
        "figures": _figures(scenario, collected),
        "tables": [
            table
            for table in (
                _points_table(scenario, points),
                _statistics_table(scenario),
                _omega_table(scenario),
            )
            if table
        ],
    }


def _configuration(entry: JobEntry) -> dict[str, str]:
    """The job's name and everything that decides its numbers; no time, so that equal results give equal pages."""
    spec = entry.result.spec
    return {"job": spec.name, "config": json.dumps(spec.to_dict(), indent=2, ensure_ascii=False)}


def _add(collected: ChartList, chart: charts.Chart) -> int:
    collected.append(chart)
    return len(collected) - 1


def _figures(scenario: ScenarioResults, collected: ChartList) -> list[Fields]:
    """Figures under a common title; those without data are left out."""
    approvals = scenario.env.scenario.vocabulary.approvals
    groups: list[tuple[str, str, list[tuple[str, charts.Chart | None]]]] = [
        (
            "Learning curves",
            "Mean over seeds of the evaluations during training; shaded: 95% interval. Horizontal lines: methods that "
            "are not trained.",
            [(heading(column), charts.curves(scenario, column)) for column in scenario.columns],
        ),
        (
            "Observed scores",
            "The full Bisimulator changes which scores its agent observes (dashed). The true scores (solid) decide who "
            "repays.",
            [("Credit gap", charts.observed(scenario))],
        ),
        (
            f"Cumulative {approvals} over an episode",
            "Means over seeds and evaluation episodes, after the training.",
            [*charts.approvals(scenario)],
        ),
        (
            "Each group",
            "",
            [
                (
                    heading(f"{scenario.env.scenario.main_rate}_g1").partition(",")[0],
                    charts.recalls(scenario) if scenario.env.num_groups >= MANY else None,
                )
            ],
        ),
        ("Scores at the start", "", [("Share of the group at each score", charts.initial(scenario))]),
    ]
    with_data: list[Fields] = []
    for name, note, figures in groups:
        drawn = [
            {"title": above, "chart": _add(collected, chart)} for above, chart in figures if chart is not None
        ]
        if drawn:
            with_data.append({"title": name, "note": note, "figures": drawn})
    return with_data


def _points_table(scenario: ScenarioResults, points: PaperPoints | None) -> Fields | None:
    """Each job beside what another paper has of it."""
    if points is None or scenario.name not in points.scenarios:
        return None
    grid, keys = point_grid(points, scenario.name), {e.result.spec.name: e.key for e in scenario.entries}
    rows = [
        {"key": keys[row.result.spec.name], "cells": [_text_cell(text) for text in line]}
        for row, line in zip(points.of(scenario.name), grid.rows, strict=True)
    ]
    note = runs_in_words([row.result for row in points.of(scenario.name)])
    if scenario.name in points.regrets:
        note += f" {REGRET_NOTE}"
    return {"title": "Published, here, verdict", "note": note, "heads": grid.head, "rows": rows}


def _statistics_table(scenario: ScenarioResults) -> Fields:
    """Interquartile means and, below them, the difference from plain PPO."""
    base = scenario.find(statistics.BASELINE)
    rows = []
    for entry in scenario.entries:
        cells = []
        for column in scenario.columns:
            iqm, below = statistics.iqm(entry, column), []
            if base is not None and entry is not base:
                difference = statistics.paired_difference(entry.result, base.result, column)
                below = [
                    statistics.interval_text(difference, sign=True),
                    statistics.significance(difference),
                ]
            cells.append(_number_cell(statistics.interval_text(iqm), iqm.estimate, below))
        rows.append({"key": entry.key, "cells": [_text_cell(entry.label), *cells]})
    note = "Mean of the middle half of the seeds with its 95% bootstrap interval. One unusual seed cannot move it far."
    if base is not None:
        note += (
            " Below: the difference from plain PPO, paired by seed, with its 95% interval (no correction for multiple "
            "comparisons)."
        )
    heads = ["method", *map(short_title, scenario.columns)]
    return {"title": "Interquartile means", "note": note, "heads": heads, "rows": rows}


def _summary(scenario: ScenarioResults) -> str:
    """What the scenario is, and which settings all of its jobs have instead of the paper's."""
    summary = scenario.env.scenario.summary
    first, *others = (entry.result.spec.settings for entry in scenario.entries)
    if not first or any(settings != first for settings in others):
        return summary
    shown = [f"{k} {v}" if isinstance(v, int | float) else k for k, v in first.items()]
    return f"{summary}. Settings that differ from the paper's: {', '.join(shown)}."


def _omega_table(scenario: ScenarioResults) -> Fields | None:
    """The learned observation dynamics, one row per method and group."""
    env = scenario.env
    names, groups = env.scenario.omega_names, labelled_groups(env.num_groups)
    rows = []
    for entry in scenario.entries:
        if entry.omega is None:
            continue
        means = entry.omega.mean(0)
        for g in groups:
            values = [_number_cell(f"{x:.{DIGITS}f}", float(x)) for x in means[g - 1]]
            cells = [_number_cell(str(g), g), *values]
            rows.append({"key": entry.key, "cells": [_text_cell(entry.label), *cells]})
    if not rows:
        return None
    some = f" {len(groups)} of {env.num_groups} groups." if len(groups) < env.num_groups else ""
    return {
        "title": "Learned observation dynamics (omega)",
        "note": f"Mean over seeds; 1 leaves the observation as it is.{some}",
        "heads": ["method", "group", *(name.replace("_", " ") for name in names)],
        "rows": rows,
    }


def _text_cell(text: str) -> Fields:
    return {"text": text, "value": None, "below": []}


def _number_cell(text: str, value: float, below: list[str] | None = None) -> Fields:
    return {"text": text, "value": repr(value), "below": below or []}
