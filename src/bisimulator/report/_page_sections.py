"""What the page says of one scenario: words, tables, figures and the configuration behind each number."""

from __future__ import annotations

import json
import math
from typing import Any

from bisimulator import registry
from bisimulator.report import _charts as charts
from bisimulator.report import findings, statistics, tables
from bisimulator.report._by_scenario import Entry, Scene
from bisimulator.report._table_columns import DIGITS, heading, printed, short_title
from bisimulator.report.figures._canvas import written_groups
from bisimulator.report.figures.approvals_over_time import what
from bisimulator.report.figures.recall_by_group import MANY
from bisimulator.report.verdicts import BEATEN, MATCHED, MISSED, compare_scene

MARKS = {MATCHED: "✓", BEATEN: "★", MISSED: "✗"}  # a colour alone does not say it to everybody
ChartList = list[charts.Chart]  # all charts of the page; a place on the page is a number in it


def section(scene: Scene, identity: str, collected: ChartList) -> dict[str, Any]:
    """Everything that the template wants; charts are put into `collected`."""
    grid = tables.paper_grid(scene)
    compared = {(c.method, c.metric): c for c in compare_scene(scene)}

    def cell(row: int, column: int, entry: Entry, metric: str) -> dict[str, Any]:
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
            "cells": [cell(r, c + 1, entry, metric) for c, metric in enumerate(scene.columns)],
            **behind(entry),
        }
        for r, entry in enumerate(scene.entries)
    ]
    return {
        "id": identity,
        "name": scene.scenario,
        "summary": _about(scene),
        "found": findings.of_scene(scene),
        "methods": methods,
        "heads": grid.head[1:],
        "caption": tables.caption(scene),
        "has_paper": bool(compared),
        "missing": tables.missing_note(scene),
        "tradeoff": _add(collected, charts.tradeoff(scene)),
        "figures": _figures(scene, collected),
        "tables": [table for table in (_statistics_table(scene), _omega_table(scene)) if table],
    }


def behind(entry: Entry) -> dict[str, str]:
    """The job's name, its time and everything that decides its numbers."""
    spec = entry.result.spec
    seconds = entry.result.seconds
    time = "" if math.isnan(seconds) else f", {seconds:,.0f} s"
    return {"job": spec.name + time, "config": json.dumps(spec.to_dict(), indent=2, ensure_ascii=False)}


def _add(collected: ChartList, chart: charts.Chart) -> int:
    collected.append(chart)
    return len(collected) - 1


def _figures(scene: Scene, collected: ChartList) -> list[dict[str, Any]]:
    """Groups of figures under a title; those without data are left out."""
    env = scene.entries[0].result.spec.make_env()
    groups: list[tuple[str, str, list[tuple[str, charts.Chart | None]]]] = [
        (
            "Over the training",
            "Mean over seeds of the evaluations during training, shaded: 95% interval. Level lines are not trained.",
            [(heading(column), charts.curves(scene, column)) for column in scene.columns],
        ),
        (
            "What the agent is shown",
            "The full Bisimulator changes how scores are shown to its agent (dashed); the true ones (solid) decide who "
            "repays.",
            [("Credit gap", charts.observed(scene))],
        ),
        (
            f"{what(scene.scenario).capitalize()} so far over an episode",
            "Means over seeds and evaluation episodes, after the training.",
            [*charts.approvals(scene)],
        ),
        (
            "Each group",
            "",
            [("Recall", charts.recalls(scene) if env.num_groups >= MANY else None)],
        ),
        ("The people at the start", "", [("Share of the group at each score", charts.initial(scene))]),
    ]
    found = []
    for name, note, figures in groups:
        drawn = [
            {"title": above, "chart": _add(collected, chart)} for above, chart in figures if chart is not None
        ]
        if drawn:
            found.append({"title": name, "note": note, "figures": drawn})
    return found


def _statistics_table(scene: Scene) -> dict[str, Any] | None:
    """Interquartile means and, below them, the difference against plain PPO."""
    base = scene.find(statistics.BASELINE)
    rows = []
    for entry in scene.entries:
        cells = []
        for column in scene.columns:
            iqm = statistics.iqm(entry, column)
            cells.append(number_cell(statistics.show(iqm), iqm.estimate))
            if base is not None and entry is not base:
                difference = statistics.against(entry, base, column)
                cells[-1]["below"] = [statistics.show(difference, sign=True), statistics.in_short(difference)]
        rows.append({"key": entry.key, "cells": [text_cell(entry.label), *cells]})
    note = "Mean of the middle half of the seeds with its 95% bootstrap interval, which one odd seed cannot move far."
    if base is not None:
        note += (
            " Below: the difference against plain PPO, seed by seed, with its 95% interval (not corrected for the "
            "number of comparisons)."
        )
    heads = ["method", *map(short_title, scene.columns)]
    return {"title": "Interquartile means", "note": note, "heads": heads, "rows": rows}


def _about(scene: Scene) -> str:
    """What the scenario is, and which settings all of its jobs have instead of the paper's."""
    about: str = registry.lookup("environment", scene.scenario).summary
    first, *others = (entry.result.spec.settings for entry in scene.entries)
    if not first or any(settings != first for settings in others):
        return about
    shown = [f"{k} {v}" if isinstance(v, int | float) else k for k, v in first.items()]
    return f"{about}. Settings of its own: {', '.join(shown)}."


def _omega_table(scene: Scene) -> dict[str, Any] | None:
    """What the observation dynamics became, a row a method and group."""
    env = scene.entries[0].result.spec.make_env()
    names, groups = env.scenario.omega_names, written_groups(env.num_groups)
    rows = []
    for entry in scene.entries:
        if entry.omega is None:
            continue
        means = entry.omega.mean(0)
        for g in groups:
            values = [number_cell(f"{x:.{DIGITS}f}", float(x)) for x in means[g - 1]]
            cells = [number_cell(str(g), g), *values]
            rows.append({"key": entry.key, "cells": [text_cell(entry.label), *cells]})
    if not rows:
        return None
    some = f" {len(groups)} of {env.num_groups} groups." if len(groups) < env.num_groups else ""
    return {
        "title": "Learned observation dynamics (omega)",
        "note": f"Mean over seeds; 1 leaves the observation as it is.{some}",
        "heads": ["method", "group", *(name.replace("_", " ") for name in names)],
        "rows": rows,
    }


def text_cell(text: str) -> dict[str, Any]:
    return {"text": text, "value": None, "below": []}


def number_cell(text: str, value: float) -> dict[str, Any]:
    return {"text": text, "value": repr(value), "below": []}
