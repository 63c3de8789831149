"""The paper's tables with our numbers, as Markdown, LaTeX and CSV, each number next to the published one."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence

from bisimulator.jobs.store import Result
from bisimulator.report._by_scenario import ScenarioResults, by_scenario
from bisimulator.report._table_columns import DIGITS, best_range, direction, printed, short_title
from bisimulator.report.verdicts import PaperComparison, compare_scenario

CSV_COLUMNS = (
    "scenario",
    "method",
    "registered_as",
    "metric",
    "better",
    "mean",
    "ci95",
    "paper_mean",
    "paper_ci95",
    "difference",
    "verdict",
)


@dataclasses.dataclass(frozen=True)
class Grid:
    """A table of text; `bold` marks cells by (row, column)."""

    head: list[str]
    rows: list[list[str]]
    bold: frozenset[tuple[int, int]] = frozenset()


def paper_grid(scenario: ScenarioResults) -> Grid:
    """Our means with 95% intervals in the layout of the paper; the best and all within 5% of it are bold."""
    rows = [
        [entry.label, *(printed(*entry.result.summary[column]) for column in scenario.columns)]
        for entry in scenario.entries
    ]
    bold = set()
    for c, column in enumerate(scenario.columns):
        means = [round(entry.result.summary[column][0], DIGITS) for entry in scenario.entries]
        low, high = best_range(column, means)
        bold |= {(r, c + 1) for r, mean in enumerate(means) if low <= mean <= high}
    return Grid(["method", *map(_head, scenario.columns)], rows, frozenset(bold))


def difference_grid(scenario: ScenarioResults) -> Grid:
    """One row per number: ours, the published one, the difference and the verdict."""
    rows, last = [], ""
    for c in compare_scenario(scenario):
        name = c.method if c.method != last else ""
        last = c.method
        numbers = printed(*c.ours), printed(*c.theirs), signed(c.difference)
        rows.append([name, _head(c.metric), *numbers, c.verdict])
    return Grid(["method", "metric", "here", "paper", "difference", "verdict"], rows)


def signed(difference: float) -> str:
    text = f"{difference:+.{DIGITS}f}"
    return text.lstrip("+-") if float(text) == 0 else text


def _head(column: str) -> str:
    arrow = {"higher": " ↑", "lower": " ↓"}.get(direction(column), "")
    return short_title(column) + arrow


def caption(scenario: ScenarioResults) -> str:
    specs = [entry.result.spec for entry in scenario.entries]
    seeds = _range([len(spec.seeds) for spec in specs])
    episodes = _range([spec.episodes for spec in specs])
    steps = _range([spec.steps for spec in specs if spec.steps])
    training = f", {steps} training steps" if steps else ""
    return (
        f"{scenario.name}: {seeds} seeds x {episodes} episodes{training}; "
        "mean ± half width of the 95% interval over seeds. Bold: the best value and all within 5% of it."
    )


def _range(values: Sequence[int]) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def missing_note(scenario: ScenarioResults) -> str:
    return (
        f"In the paper's table but not run here: {', '.join(scenario.missing)}." if scenario.missing else ""
    )


def markdown_tables(results: Sequence[Result]) -> dict[str, str]:
    """Scenario -> page."""
    return {scenario.name: _markdown_page(scenario) for scenario in by_scenario(results)}


def _markdown_page(scenario: ScenarioResults) -> str:
    parts = [
        f"# {markdown_text(scenario.name)}",
        markdown_text(caption(scenario)),
        markdown(paper_grid(scenario)),
    ]
    differences = difference_grid(scenario)
    if differences.rows:
        parts += ["## Compared with the paper", markdown(differences, numbers_from=2)]
    if scenario.missing:
        parts.append(markdown_text(missing_note(scenario)))
    return "\n\n".join(parts) + "\n"


def markdown(grid: Grid, numbers_from: int = 1) -> str:
    body = _cells(grid, markdown_text, "**{}**")
    align = [":---"] * numbers_from + ["---:"] * (len(grid.head) - numbers_from)
    lines = [list(map(markdown_text, grid.head)), align, *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def markdown_text(text: str) -> str:
    """Escape what Markdown, or HTML within it, would interpret."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", " ".join(text.split()))


def latex_tables(results: Sequence[Result]) -> dict[str, str]:
    """Scenario -> LaTeX with booktabs; \\input it."""
    return {scenario.name: _latex_page(scenario) for scenario in by_scenario(results)}


def _latex_page(scenario: ScenarioResults) -> str:
    parts = ["% needs \\usepackage{booktabs}", latex(paper_grid(scenario), caption(scenario), "l")]
    differences = difference_grid(scenario)
    if differences.rows:
        text = f"{scenario.name}: each number here and in the paper. {missing_note(scenario)}".strip()
        parts.append(latex(differences, text, "ll"))
    return "\n\n".join(parts) + "\n"


def latex(grid: Grid, caption: str, words: str) -> str:
    align = words + "r" * (len(grid.head) - len(words))
    body = [" & ".join(row) + r" \\" for row in _cells(grid, latex_text, r"\textbf{{{}}}")]
    head = " & ".join(rf"\textbf{{{latex_text(name)}}}" for name in grid.head) + r" \\"
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{latex_text(caption)}}}",
        r"  \scriptsize",
        rf"  \begin{{tabular}}{{{align}}}",
        r"    \toprule",
        f"    {head}",
        r"    \midrule",
        *(f"    {line}" for line in body),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    **{c: rf"\{c}" for c in "&%$#_{}"},
}


def latex_text(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in text)


def _cells(grid: Grid, escape: Callable[[str], str], bold: str) -> list[list[str]]:
    return [
        [bold.format(escape(cell)) if (r, c) in grid.bold else escape(cell) for c, cell in enumerate(row)]
        for r, row in enumerate(grid.rows)
    ]


def csv_rows(scenario: ScenarioResults) -> list[tuple[object, ...]]:
    """Every number at full precision; the paper's columns are empty if it has none."""
    compared = {(c.method, c.metric): c for c in compare_scenario(scenario)}
    rows: list[tuple[object, ...]] = []
    for entry in scenario.entries:
        for metric in scenario.columns:
            ours = entry.result.summary[metric]
            c: PaperComparison | None = compared.get((entry.published_name, metric))
            theirs = (*c.theirs, c.difference, c.verdict) if c and c.ours == ours else ("", "", "", "")
            method = entry.result.spec.method
            rows.append((scenario.name, entry.label, method, metric, direction(metric), *ours, *theirs))
    return rows
