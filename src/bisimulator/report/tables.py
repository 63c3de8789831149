"""The paper's tables with our numbers, as Markdown, LaTeX and CSV, each number beside the published one."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence

from bisimulator.jobs.run import Result
from bisimulator.report._by_scenario import Scene, scenes
from bisimulator.report._table_columns import DIGITS, best_range, direction, printed, short_title
from bisimulator.report.verdicts import Comparison, compare_scene

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


def paper_grid(scene: Scene) -> Grid:
    """Our means with 95% intervals in the layout of the paper, the best and all within 5% of it in bold."""
    rows = [
        [entry.label, *(printed(*entry.result.summary[column]) for column in scene.columns)]
        for entry in scene.entries
    ]
    bold = set()
    for c, column in enumerate(scene.columns):
        means = [round(entry.result.summary[column][0], DIGITS) for entry in scene.entries]
        low, high = best_range(column, means)
        bold |= {(r, c + 1) for r, mean in enumerate(means) if low <= mean <= high}
    return Grid(["method", *map(_head, scene.columns)], rows, frozenset(bold))


def difference_grid(scene: Scene) -> Grid:
    """Number by number: ours, the published one, the difference and what follows from it."""
    rows, last = [], ""
    for c in compare_scene(scene):
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


def caption(scene: Scene) -> str:
    specs = [entry.result.spec for entry in scene.entries]
    seeds = _range([len(spec.seeds) for spec in specs])
    episodes = _range([spec.episodes for spec in specs])
    steps = _range([spec.steps for spec in specs if spec.steps])
    training = f", {steps} steps of training" if steps else ""
    return (
        f"{scene.scenario}: {seeds} seeds x {episodes} episodes{training}; "
        "mean ± half width of the 95% interval over seeds. Bold: the best and all within 5% of it."
    )


def _range(values: Sequence[int]) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def missing_note(scene: Scene) -> str:
    return f"In the paper's table but not run here: {', '.join(scene.missing)}." if scene.missing else ""


def markdown_tables(results: Sequence[Result]) -> dict[str, str]:
    """Scenario -> page."""
    return {scene.scenario: _markdown_page(scene) for scene in scenes(results)}


def _markdown_page(scene: Scene) -> str:
    parts = [
        f"# {markdown_text(scene.scenario)}",
        markdown_text(caption(scene)),
        markdown(paper_grid(scene)),
    ]
    differences = difference_grid(scene)
    if differences.rows:
        parts += ["## Next to the paper", markdown(differences, numbers_from=2)]
    if scene.missing:
        parts.append(markdown_text(missing_note(scene)))
    return "\n\n".join(parts) + "\n"


def markdown(grid: Grid, numbers_from: int = 1) -> str:
    body = _cells(grid, markdown_text, "**{}**")
    align = [":---"] * numbers_from + ["---:"] * (len(grid.head) - numbers_from)
    lines = [list(map(markdown_text, grid.head)), align, *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def markdown_text(text: str) -> str:
    """Text that Markdown and the HTML within it leave alone."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", " ".join(text.split()))


def latex_tables(results: Sequence[Result]) -> dict[str, str]:
    """Scenario -> LaTeX with booktabs; \\input it."""
    return {scene.scenario: _latex_page(scene) for scene in scenes(results)}


def _latex_page(scene: Scene) -> str:
    parts = ["% needs \\usepackage{booktabs}", latex(paper_grid(scene), caption(scene), "l")]
    differences = difference_grid(scene)
    if differences.rows:
        text = f"{scene.scenario}: each number here and in the paper. {missing_note(scene)}".strip()
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


def csv_rows(scene: Scene) -> list[tuple[object, ...]]:
    """Every number at full precision; the paper's columns are empty where it has none."""
    compared = {(c.method, c.metric): c for c in compare_scene(scene)}
    rows: list[tuple[object, ...]] = []
    for entry in scene.entries:
        for metric in scene.columns:
            ours = entry.result.summary[metric]
            c: Comparison | None = compared.get((entry.published_name, metric))
            theirs = (*c.theirs, c.difference, c.verdict) if c and c.ours == ours else ("", "", "", "")
            method = entry.result.spec.method
            rows.append((scene.scenario, entry.label, method, metric, direction(metric), *ours, *theirs))
    return rows
