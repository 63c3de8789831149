"""Everything that people look at, from a list of results: tables, figures and the page."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from bisimulator import files
from bisimulator.jobs.run import Result
from bisimulator.report import statistics, tables
from bisimulator.report._by_scenario import scenes
from bisimulator.report.report_page import page
from bisimulator.report.summary import markdown_summary


def write_report(results: Sequence[Result], out: Path) -> list[Path]:
    """Writes out/tables, out/figures and out/report.html; gives the paths of all files written.

    Any subset of the paper's jobs will do; what is missing is left out and said.
    """
    if not results:
        raise ValueError(
            "there is no result to report; run a job first, such as `bisimulator compare lending`"
        )
    contents = {**_tables(results), **_figures(results), "report.html": page(results).encode()}
    for name, content in contents.items():
        files.write_bytes(out / name, content)
    return [out / name for name in contents]


def _tables(results: Sequence[Result]) -> dict[str, bytes]:
    texts: dict[str, str] = {}
    for kind, pages in (("md", tables.markdown_tables(results)), ("tex", tables.latex_tables(results))):
        texts |= {f"tables/{scenario}.{kind}": text for scenario, text in pages.items()}
    for scene in scenes(results):
        texts[f"tables/{scene.scenario}.csv"] = _csv(tables.CSV_COLUMNS, tables.csv_rows(scene))
    texts["tables/summary.md"] = markdown_summary(results)
    texts["tables/statistics.csv"] = _csv(statistics.CSV_COLUMNS, statistics.csv_rows(results))
    return {name: text.encode() for name, text in texts.items()}


def _csv(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def _figures(results: Sequence[Result]) -> dict[str, bytes]:
    from bisimulator.report.figures import _canvas as canvas
    from bisimulator.report.figures import approvals_over_time as approvals
    from bisimulator.report.figures import initial_scores as initial
    from bisimulator.report.figures import learning_curve_figures as curves
    from bisimulator.report.figures import observed_scores as observed
    from bisimulator.report.figures import recall_by_group as groups
    from bisimulator.report.figures import tradeoff

    contents = {}
    for kind in (curves, tradeoff, approvals, observed, groups, initial):
        for name, figure in kind.draw(results).items():
            for suffix in ("png", "svg"):
                contents[f"figures/{name}.{suffix}"] = canvas.encode(figure, suffix)
    return contents
