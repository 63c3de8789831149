"""`bisimulator train` and `bisimulator compare`: run jobs, then the paper's table next to the published numbers."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.console import Console
from rich.table import Table

from bisimulator import files
from bisimulator.core import Env
from bisimulator.jobs.run import (
    EPISODE_COLUMNS,
    SUMMARY_COLUMNS,
    Result,
    episode_rows,
    run,
    summary_rows,
)
from bisimulator.jobs.spec import Spec, make_spec
from bisimulator.report import _table_columns as columns
from bisimulator.report._progress_bar import progress_bar
from bisimulator.report.rule_tables import OTHER_SETTINGS, number, plain_table

_MOST_GROUPS = 10  # whose omega is told one by one
WRITTEN = ("summary.csv", "episodes.csv", "table.md")


def show_training(spec: Spec, out: Path, console: Console) -> Result:
    result = _run(spec, out, console)
    console.print(paper_table([result]), "")
    _print_notes([result], console)
    console.print(f"Kept in {out / spec.name}", soft_wrap=True, markup=False)
    return result


def show_comparison(
    scenario: str, methods: Sequence[str], out: Path, console: Console, **options: Any
) -> list[Result]:
    """Every job is checked before the first one runs; finished ones are taken from `out`."""
    specs = [make_spec(scenario, method, **options) for method in methods]
    for spec in specs:
        spec.make_env()
    results = [_run(spec, out, console) for spec in specs]
    files.write_csv(out / "summary.csv", SUMMARY_COLUMNS, [row for r in results for row in summary_rows(r)])
    files.write_csv(out / "episodes.csv", EPISODE_COLUMNS, [row for r in results for row in episode_rows(r)])
    files.write_bytes(out / "table.md", markdown_table(results).encode())
    console.print(paper_table(results), "")
    _print_notes(results, console)
    if len(results) > 1:
        console.print(in_one_sentence(results))
    console.print(f"Written: {', '.join(str(out / name) for name in WRITTEN)}", soft_wrap=True, markup=False)
    return results


def _run(spec: Spec, out: Path, console: Console) -> Result:
    began = time.monotonic()
    with progress_bar(console, f"{spec.scenario} {spec.method}") as tell:
        result = run(spec, out, tell)
    console.print(f"{spec.scenario} {spec.method}: {time.monotonic() - began:.0f} s", soft_wrap=True)
    return result


def paper_table(results: Sequence[Result]) -> Table:
    """A row of ours and, below it, the published one; the best of ours and all within 5% of it are bold."""
    scenario = results[0].spec.scenario
    summaries = [result.summary for result in results]
    metrics = _columns(results[0])
    titles = [columns.short_title(metric) for metric in metrics]
    spec = results[0].spec
    title = (
        f"{scenario}, {len(spec.seeds)} seeds x {spec.episodes} episodes, ± half width of the 95% interval"
    )
    table = plain_table(title, ["method", ""], titles)
    best = {metric: columns.best_range(metric, [s[metric][0] for s in summaries]) for metric in metrics}
    for result, ours in zip(results, summaries, strict=True):
        paper = columns.published_row(result.spec)
        cells = [_cell(ours[m], best[m]) for m in metrics]
        table.add_row(result.spec.method, "here", *cells)
        if paper:
            table.add_row(
                "", "paper", *(number(*paper[m]) if m in paper else "" for m in metrics), style="dim"
            )
    return table


def markdown_table(results: Sequence[Result]) -> str:
    """The same table for a page: our value and, after a slash, the published one."""
    spec, metrics = results[0].spec, _columns(results[0])
    steps = max(result.spec.steps for result in results)
    lines = [
        f"{spec.scenario}: {len(spec.seeds)} seeds x {spec.episodes} episodes, {steps:,} "
        "steps of training; here / in the paper, ± half width of the 95% interval.\n",
        "| method | " + " | ".join(columns.short_title(metric) for metric in metrics) + " |",
        "| --- |" + " --- |" * len(metrics),
    ]
    for result in results:
        ours, paper = result.summary, columns.published_row(result.spec)
        cells = [number(*ours[m]) + (f" / {number(*paper[m])}" if m in paper else "") for m in metrics]
        lines.append(f"| {result.spec.method} | " + " | ".join(cells) + " |")
    if _other_settings(results):
        lines.append(f"\n{OTHER_SETTINGS}")
    return "\n".join(lines) + "\n"


def _other_settings(results: Sequence[Result]) -> bool:
    """Whether published rows are shown that hold for other settings."""
    return any(result.spec.settings and columns.published_row(result.spec) for result in results)


def _columns(result: Result) -> list[str]:
    return columns.table_columns(result.spec.scenario, list(result.summary))


def _cell(value: tuple[float, float], best: tuple[float, float]) -> str:
    text = number(*value)
    return f"[bold]{text}[/bold]" if best[0] <= value[0] <= best[1] else text


def _print_notes(results: Sequence[Result], console: Console) -> None:
    """Whose the published rows are, and what was learned about observations: omega, true and observed scores."""
    if _other_settings(results):
        console.print(OTHER_SETTINGS)
    for result in results:
        if "omega" not in result.learned or not result.spec.config.dynamics_steps:
            continue
        told = omega_in_words(result.spec.make_env(), result.learned["omega"].mean(0))
        console.print(
            f"{result.spec.method} learned omega (mean over seeds): {told}.", soft_wrap=True, markup=False
        )
        if "observed_credit_gap" in result.columns:
            true, seen = (result.summary[m][0] for m in ("credit_gap", "observed_credit_gap"))
            console.print(
                f"  Its observed credit gap is {seen:.2f}, the true one {true:.2f}.", soft_wrap=True
            )


def omega_in_words(env: Env, omega: Float[np.ndarray, "G K"]) -> str:
    """Every group's; of many groups the lowest and the highest of each entry."""
    names, groups = env.scenario.omega_names, env.group_names
    if len(groups) > _MOST_GROUPS:
        ends = [(values.argmin(), values.argmax()) for values in omega.T]
        return "; ".join(
            f"{name} from {omega[low, k]:.2f} (group {groups[low]}) to {omega[high, k]:.2f} (group {groups[high]})"
            for k, (name, (low, high)) in enumerate(zip(names, ends, strict=True))
        )
    rows = [", ".join(f"{name} {x:.2f}" for name, x in zip(names, row, strict=True)) for row in omega]
    return "; ".join(f"group {group}: {row}" for group, row in zip(groups, rows, strict=True))


def in_one_sentence(results: Sequence[Result]) -> str:
    """What the table shows: the widest and the narrowest recall gap, and what it costs."""
    gaps = [r.summary["recall_gap"][0] for r in results]
    if len(results) < 2 or np.isnan(gaps).any() or max(gaps) - min(gaps) < 0.005:
        return "The groups' recalls are equally far apart under all methods."
    wide, narrow = results[int(np.argmax(gaps))], results[int(np.argmin(gaps))]
    before, after = (r.summary["average_return"][0] for r in (wide, narrow))
    return (
        f"{narrow.spec.method} brings the groups' recalls from {max(gaps):.2f} apart ({wide.spec.method}) to "
        f"{min(gaps):.2f}; the return goes from {before:.0f} to {after:.0f}."
    )
