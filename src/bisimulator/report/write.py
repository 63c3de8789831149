"""The whole report of finished jobs: tables, figures and the HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from bisimulator import files
from bisimulator.errors import check_known
from bisimulator.jobs.references import Reference
from bisimulator.jobs.store import Result
from bisimulator.report import paper_points, statistics, tables
from bisimulator.report._by_scenario import by_scenario
from bisimulator.report.figures._canvas import FORMATS
from bisimulator.report.paper_points import PaperPoints
from bisimulator.report.report_page import render_report
from bisimulator.report.summary import markdown_summary


def write_report(
    results: Sequence[Result],
    out: Path,
    formats: Sequence[str] = ("svg",),
    references: Mapping[str, Reference] | None = None,
    points: PaperPoints | None = None,
) -> list[Path]:
    """Write the tables, the figures and the HTML page of finished jobs.

    Args:
        results: any finished jobs; the report says which of the paper's are missing.
        out: the folder; tables go to `out/tables`, figures to `out/figures`, the page to `out/report.html`.
        formats: of the figures: "svg", "png" or "pdf".
        references: accept-all and the frontier of each scenario for the trade-off figures, from
            `bisimulator.jobs.references.references`; without it they have neither.
        points: the same jobs beside the points of another paper, from `paper_points.compare_points`; its table goes to
            `out/tables/PAPER.md` and `.csv`.

    Returns:
        All files that were written.

    Raises:
        ValueError: if there is no result, or a format is unknown.

    Example:
        >>> write_report(find_runs(Path("runs")), Path("runs/report"))
    """
    if not results:
        raise ValueError(
            "there is no result to report; run a job first, such as `bisimulator compare lending`"
        )
    for kind in formats:
        check_known("format", kind, FORMATS)
    contents = {
        **_tables(results),
        **_points(points),
        **_figures(results, formats, references or {}, points),
        "report.html": render_report(results, references, points).encode(),
    }
    for name, content in contents.items():
        files.write_bytes(out / name, content)
    return [out / name for name in contents]


def _tables(results: Sequence[Result]) -> dict[str, bytes]:
    texts: dict[str, str] = {}
    for kind, pages in (("md", tables.markdown_tables(results)), ("tex", tables.latex_tables(results))):
        texts |= {f"tables/{scenario}.{kind}": text for scenario, text in pages.items()}
    for scenario in by_scenario(results):
        texts[f"tables/{scenario.name}.csv"] = files.csv_text(tables.CSV_COLUMNS, tables.csv_rows(scenario))
    texts["tables/summary.md"] = markdown_summary(results)
    texts["tables/statistics.csv"] = files.csv_text(statistics.CSV_COLUMNS, statistics.csv_rows(results))
    return {name: text.encode() for name, text in texts.items()}


def _points(points: PaperPoints | None) -> dict[str, bytes]:
    if points is None:
        return {}
    name = f"tables/{points.paper.name}"
    numbers = files.csv_text(paper_points.CSV_COLUMNS, paper_points.point_rows(points))
    return {f"{name}.md": paper_points.markdown_points(points).encode(), f"{name}.csv": numbers.encode()}


def _figures(
    results: Sequence[Result],
    formats: Sequence[str],
    references: Mapping[str, Reference],
    points: PaperPoints | None,
) -> dict[str, bytes]:
    from bisimulator.report.figures import _canvas as canvas
    from bisimulator.report.figures import approvals_over_time as approvals
    from bisimulator.report.figures import initial_scores as initial
    from bisimulator.report.figures import learning_curve_figures as curves
    from bisimulator.report.figures import observed_scores as observed
    from bisimulator.report.figures import recall_by_group as groups
    from bisimulator.report.figures import tradeoff

    figures = tradeoff.draw(results, references)
    for kind in (curves, approvals, observed, groups, initial):
        figures |= kind.draw(results)
    if points is not None:
        columns = (paper_points.REWARD, paper_points.BIAS)
        figures |= curves.draw_training(results, columns)
    return {
        f"figures/{name}.{suffix}": canvas.encode(figure, suffix)
        for name, figure in figures.items()
        for suffix in formats
    }
