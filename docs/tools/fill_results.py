"""Fills the tables of the methods' pages: their rows here and as published, and what the grid search tried.

    python docs/tools/fill_results.py

Between `<!-- results:begin NAME ... -->` and `<!-- results:end -->` come the rows of these methods from
docs/results/tables/SCENARIO.csv, which `bisimulator reproduce` writes; between `<!-- grid:begin NAME -->` and
`<!-- grid:end -->` the rows of benchmarks/tuning.csv. A test checks that the pages say what these files say.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence
from math import nan
from pathlib import Path

from bisimulator import published, registry
from bisimulator.files import write_bytes
from bisimulator.report._table_columns import printed, short_title
from bisimulator.report.tables import Grid, markdown

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "methods"
TABLES = ROOT / "docs" / "results" / "tables"
TUNING = ROOT / "benchmarks" / "tuning.csv"
NOTHING_RUN = (
    "No row yet. `bisimulator reproduce` runs every method of the paper's tables; with its `tables` folder in "
    "`docs/results`, `python docs/tools/fill_results.py` writes the rows here."
)
NOTHING_TRIED = "Nothing tried yet: `python benchmarks/tune.py` does."
_BLOCK = re.compile(r"(<!-- (results|grid):begin ([^>]*?) -->\n).*?(<!-- \2:end -->)", re.DOTALL)

Row = dict[str, str]


def main() -> None:
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            write_bytes(page, filled(text).encode())


def filled(text: str, tables: Path = TABLES, tuning: Path = TUNING) -> str:
    """The page with all its blocks written anew."""

    def write(block: re.Match[str]) -> str:
        names = block[3].split()
        body = results(names, tables) if block[2] == "results" else grid(names, tuning)
        return f"{block[1]}\n{body}\n\n{block[4]}"

    return _BLOCK.sub(write, text)


def results(methods: Sequence[str], tables: Path) -> str:
    """A table a scenario, with two lines a method: here, and in the paper."""
    parts = []
    for scenario in registry.names("environment"):
        rows = [row for row in _read(tables / f"{scenario}.csv") if row["registered_as"] in methods]
        if rows:
            parts.append(f"**{scenario}**\n\n{markdown(_here_and_published(rows), numbers_from=2)}")
    return "\n\n".join(parts) or _nothing_run(methods)


def _nothing_run(methods: Sequence[str]) -> str:
    if any(registry.lookup("method", name).published for name in methods):
        return NOTHING_RUN
    return (
        f"The paper has no row of it; `bisimulator compare lending --methods {','.join(methods)}` makes one."
    )


def _here_and_published(rows: Sequence[Row]) -> Grid:
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    lines = []
    for label in dict.fromkeys(row["method"] for row in rows):
        of_method = {row["metric"]: row for row in rows if row["method"] == label}
        lines.append([label, "here", *(_number(of_method.get(m), "mean", "ci95") for m in metrics)])
        if any(row["paper_mean"] for row in of_method.values()):
            paper = (_number(of_method.get(m), "paper_mean", "paper_ci95") for m in metrics)
            lines.append(["", "paper", *paper])
    return Grid(["method", "", *map(short_title, metrics)], lines)


def grid(methods: Sequence[str], tuning: Path) -> str:
    """A table a scenario, with a line a configuration, and the published row under it."""
    parts = []
    for scenario in registry.names("environment"):
        rows = [row for row in _read(tuning) if row["scenario"] == scenario and row["method"] in methods]
        if rows:
            parts.append(f"**{scenario}**\n\n{markdown(_tried(scenario, rows))}")
    return "\n\n".join(parts) or NOTHING_TRIED


def _tried(scenario: str, rows: Sequence[Row]) -> Grid:
    settings = [json.loads(row["settings"]) for row in rows]
    names = list(dict.fromkeys(name for tried in settings for name in tried))
    metrics = [name for name in _measured(rows[0]) if any(row[name] for row in rows)]
    lines = []
    for tried, row in zip(settings, rows, strict=True):
        values = (f"{tried[name]:g}" if name in tried else "" for name in names)
        lines.append([*values, *(_number(row, m) for m in metrics), row["passes"]])
    paper = published.row(scenario, registry.lookup("method", rows[0]["method"]).published)
    if paper:
        values = (printed(*paper[m]) if m in paper else "-" for m in metrics)
        lines.append(["paper", *[""] * (len(names) - 1), *values, ""])
    return Grid([*names, *map(short_title, metrics), "as good as published"], lines)


def _measured(columns: Iterable[str]) -> list[str]:
    """Without the mean recall where each group's is there."""
    known = [name for name in columns if name not in ("method", "scenario", "settings", "passes")]
    return [name for name in known if name != "recall_mean" or "recall_g1" not in known]


def _number(row: Row | None, mean: str, half: str = "") -> str:
    if row is None or not row[mean]:
        return "-"
    return printed(float(row[mean]), float(row[half]) if half and row[half] else nan)


def _read(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    main()
