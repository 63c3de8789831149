"""Fill the tables in docs/methods and docs/results: our results next to the published ones, and what was tried.

    python docs/tools/fill_results.py

Rows of docs/results/tables/SCENARIO.csv, which `bisimulator reproduce` writes, go between `<!-- results:begin NAME
... -->` and `<!-- results:end -->`. So do those of docs/results/tables/baselines/SCENARIO.csv, for methods that the
paper does not have, or that were run again on their own, below the row of PPO; `bisimulator report` writes these from
the folder of `bisimulator compare`. Rows of benchmarks/tuning.csv go between `<!-- grid:begin NAME -->` and `<!--
grid:end -->`. The first section of docs/results/tables/NAME.md goes between `<!-- table:begin NAME -->` and its end.
Of the field's other papers, docs/results/tables/PAPER.md goes between `<!-- paper:begin PAPER -->` and its end, and
rows of benchmarks/tuning_papers.csv go between `<!-- tried:begin PAPER -->` and its end. A test checks that the pages
agree with these files.
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
PAGES = (ROOT / "docs" / "methods", ROOT / "docs" / "results")
TABLES = ROOT / "docs" / "results" / "tables"
TUNING = ROOT / "benchmarks" / "tuning.csv"
NOTHING_RUN = (
    "No results yet. Run `bisimulator reproduce`, copy its `tables` folder to `docs/results`, and run "
    "`python docs/tools/fill_results.py`."
)
TRIED = ROOT / "benchmarks" / "tuning_papers.csv"
NOTHING_TRIED = "Nothing tried yet; run `python benchmarks/tune.py`."
_BLOCK = re.compile(
    r"(<!-- (results|grid|table|paper|tried):begin ([^>]*?) -->\n).*?(<!-- \2:end -->)", re.DOTALL
)

TRIED_COLUMNS = (
    "method",
    "steps",
    "options",
    "seeds",
    "evaluation",
    "reward_per_step",
    "benefit_rate_bias",
    "passes",
)
TRIED_HEADS = ("method", "steps", "options", "seeds", "evaluation", "reward per step", "bias", "passes")

Row = dict[str, str]


def main() -> None:
    """Update all pages in docs/methods and docs/results."""
    for page in sorted(page for folder in PAGES for page in folder.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            write_bytes(page, filled(text).encode())


def filled(text: str, tables: Path = TABLES, tuning: Path = TUNING) -> str:
    """The page with all its blocks filled."""

    def write(block: re.Match[str]) -> str:
        names = block[3].split()
        fill = {
            "results": lambda: results(names, tables),
            "grid": lambda: grid(names, tuning),
            "table": lambda: table(names[0], tables),
            "paper": lambda: paper(names[0], tables),
            "tried": lambda: tried_for(names[0], TRIED),
        }
        body = fill[block[2]]()
        return f"{block[1]}\n{body}\n\n{block[4]}"

    return _BLOCK.sub(write, text)


def results(methods: Sequence[str], tables: Path) -> str:
    """One table per scenario, with two rows per method: here, and in the paper."""
    sections = []
    for scenario in registry.names("environment"):
        reproduced, compared = (
            _read(folder / f"{scenario}.csv") for folder in (tables, tables / "baselines")
        )
        rows = [row for row in reproduced if row["registered_as"] in methods]
        baselines = [row for row in compared if row["registered_as"] in methods]
        if baselines:  # there is no published row to compare them with, so compare with PPO
            rows += [row | {"paper_mean": ""} for row in reproduced if row["registered_as"] == "ppo"]
        rows += baselines
        if rows:
            sections.append(f"**{scenario}**\n\n{markdown(_here_and_published(rows), numbers_from=2)}")
    return "\n\n".join(sections) or _nothing_run(methods)


def _nothing_run(methods: Sequence[str]) -> str:
    if any(registry.lookup("method", name).published for name in methods):
        return NOTHING_RUN
    applies = registry.lookup("method", methods[0]).applies
    scenario = next(s for s in registry.names("environment") if applies(registry.lookup("environment", s)))
    return (
        "The paper does not report this method. To run it: "
        f"`bisimulator compare {scenario} --methods {','.join(methods)}`."
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
    """One table per scenario, with one row per configuration, followed by the published row."""
    sections = []
    for scenario in registry.names("environment"):
        rows = [row for row in _read(tuning) if row["scenario"] == scenario and row["method"] in methods]
        if rows:
            sections.append(f"**{scenario}**\n\n{markdown(_tried(scenario, rows))}")
    return "\n\n".join(sections) or NOTHING_TRIED


def table(name: str, tables: Path) -> str:
    """What a page of `reproduce` begins with, without its title."""
    path = tables / f"{name}.md"
    if not path.exists():
        return NOTHING_RUN
    return _without_title(path).partition("\n## ")[0].strip()


def paper(name: str, tables: Path) -> str:
    """What `reproduce --paper` wrote, without its title and one level down."""
    path = tables / f"{name}.md"
    if not path.exists():
        return (
            f"Not run yet. Run `bisimulator reproduce --paper {name}`, copy its `tables/{name}.md` to "
            "`docs/results/tables`, and run `python docs/tools/fill_results.py`."
        )
    return re.sub(r"^## ", "### ", _without_title(path).strip(), flags=re.MULTILINE)


def _without_title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n\n")[2]


def tried_for(name: str, path: Path) -> str:
    """One table per scenario, with one row per configuration and kind of evaluation."""
    rows = [row for row in _read(path) if row["paper"] == name]
    sections = []
    for scenario in dict.fromkeys(row["scenario"] for row in rows):
        here = [row for row in rows if row["scenario"] == scenario]
        lines = [[row[column] for column in TRIED_COLUMNS] for row in here]
        for line, row in zip(lines, here, strict=True):
            line[2] = _options_in_words(json.loads(row["options"]))
        sections.append(f"**{scenario}**\n\n{markdown(Grid(list(TRIED_HEADS), lines), numbers_from=3)}")
    return "\n\n".join(sections) or NOTHING_TRIED


def _options_in_words(options: dict[str, object]) -> str:
    flat: dict[str, object] = {}
    for name, value in options.items():
        flat |= value if isinstance(value, dict) else {name: value}
    return ", ".join(f"{name} {value}" for name, value in flat.items()) or "defaults"


def _tried(scenario: str, rows: Sequence[Row]) -> Grid:
    settings = [json.loads(row["settings"]) for row in rows]
    names = list(dict.fromkeys(name for tried in settings for name in tried))
    metrics = [name for name in _measured(rows[0]) if any(row[name] for row in rows)]
    paper = published.row(scenario, registry.lookup("method", rows[0]["method"]).published)
    lines = []
    for tried, row in zip(settings, rows, strict=True):
        values = (_setting(tried[name]) if name in tried else "" for name in names)
        lines.append([*values, *(_number(row, m) for m in metrics), *([row["passes"]] if paper else [])])
    if not paper:
        return Grid([*names, *map(short_title, metrics)], lines)
    values = (printed(*paper[m]) if m in paper else "-" for m in metrics)
    lines.append(["paper", *[""] * (len(names) - 1), *values, ""])
    return Grid([*names, *map(short_title, metrics), "as good as published"], lines)


def _setting(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _measured(columns: Iterable[str]) -> list[str]:
    """Names of metrics, without the mean recall if there is one per group."""
    names = [name for name in columns if name not in ("method", "scenario", "settings", "passes")]
    return [name for name in names if name != "recall_mean" or "recall_g1" not in names]


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
