"""Jobs of one scenario compared with the published numbers: as a table, as files, and in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from bisimulator import files, registry
from bisimulator.jobs.labels import labels
from bisimulator.jobs.store import EPISODE_COLUMNS, SUMMARY_COLUMNS, Result, episode_rows, summary_rows
from bisimulator.report import _table_columns as table_columns
from bisimulator.report._observation_dynamics import learned_omega, omega_in_words
from bisimulator.report.sentences import trivial_rule
from bisimulator.report.statistics import differences_in_words
from bisimulator.report.tables import markdown_text
from bisimulator.report.text import OTHER_SETTINGS, number, plain_table


def write_comparison(results: Sequence[Result], folder: Path) -> list[Path]:
    """Write the table and the numbers behind it; returns the files written."""
    names = labels([result.spec for result in results])
    rows, episodes = (
        [
            (scenario, name, *rest)
            for name, result in zip(names, results, strict=True)
            for scenario, _, *rest in of(result)
        ]
        for of in (summary_rows, episode_rows)
    )
    files.write_csv(folder / "summary.csv", SUMMARY_COLUMNS, rows)
    files.write_csv(folder / "episodes.csv", EPISODE_COLUMNS, episodes)
    files.write_bytes(folder / "table.md", markdown_table(results).encode())
    return [folder / name for name in ("summary.csv", "episodes.csv", "table.md")]


def paper_table(results: Sequence[Result]) -> Table:
    """One row per job and, below it, the published one; our best value and all within 5% of it are bold."""
    scenario = results[0].spec.scenario
    summaries = [result.summary for result in results]
    metrics = _columns(results[0])
    titles = [table_columns.short_title(metric) for metric in metrics]
    spec = results[0].spec
    title = (
        f"{scenario}, {len(spec.seeds)} seeds x {spec.episodes} episodes, ± half width of the 95% interval"
    )
    table = plain_table(escape(title), ["method", ""], titles)
    best = {metric: table_columns.best_range(metric, [s[metric][0] for s in summaries]) for metric in metrics}
    names = labels([result.spec for result in results])
    for name, result, ours in zip(names, results, summaries, strict=True):
        paper = table_columns.published_row(result.spec)
        cells = [_cell(ours[m], best[m]) for m in metrics]
        table.add_row(escape(name), "here", *cells)
        if paper:
            table.add_row(
                "", "paper", *(number(*paper[m]) if m in paper else "" for m in metrics), style="dim"
            )
    return table


def markdown_table(results: Sequence[Result]) -> str:
    """The same table as Markdown: our value and, after a slash, the published one."""
    spec, metrics = results[0].spec, _columns(results[0])
    steps = max(result.spec.steps for result in results)
    lines = [
        f"{spec.scenario}: {len(spec.seeds)} seeds x {spec.episodes} episodes, {steps:,} "
        "training steps; here / in the paper, ± half width of the 95% interval.\n",
        "| method | " + " | ".join(table_columns.short_title(metric) for metric in metrics) + " |",
        "| --- |" + " --- |" * len(metrics),
    ]
    names = labels([result.spec for result in results])
    for name, result in zip(names, results, strict=True):
        ours, paper = result.summary, table_columns.published_row(result.spec)
        cells = [number(*ours[m]) + (f" / {number(*paper[m])}" if m in paper else "") for m in metrics]
        lines.append(f"| {markdown_text(name)} | " + " | ".join(cells) + " |")
    if _other_settings(results):
        lines.append(f"\n{OTHER_SETTINGS}")
    return "\n".join(lines) + "\n"


def _other_settings(results: Sequence[Result]) -> bool:
    """Whether published rows are shown although they are for other settings."""
    return any(result.spec.settings and table_columns.published_row(result.spec) for result in results)


def _columns(result: Result) -> list[str]:
    return table_columns.table_columns(result.spec.scenario, list(result.summary))


def _cell(value: tuple[float, float], best: tuple[float, float]) -> str:
    text = number(*value)
    return f"[bold]{text}[/bold]" if best[0] <= value[0] <= best[1] else text


def print_notes(results: Sequence[Result], console: Console) -> None:
    """What the table does not say: other settings, trivial decisions, learned omega, true and observed scores."""
    if _other_settings(results):
        console.print(OTHER_SETTINGS)
    for name, result in zip(labels([result.spec for result in results]), results, strict=True):
        for note in _notes(name, result):
            console.print(note, soft_wrap=True, markup=False)


def _notes(name: str, result: Result) -> list[str]:
    notes, rule, omega = [], trivial_rule(result.outcome), learned_omega(result)
    if rule and rule != result.spec.method:
        notes.append(f"{name} decides like {rule} in every evaluation episode.")
    if omega is not None:
        words = omega_in_words(result.spec.make_env(), omega.mean(0))
        notes.append(f"{name} learned omega (mean over seeds): {words}.")
        if "observed_credit_gap" in result.summary:
            true, observed = (number(*result.summary[m]) for m in ("credit_gap", "observed_credit_gap"))
            notes.append(f"  Its observed credit gap is {observed}, the true one {true}.")
    return notes


def in_one_sentence(results: Sequence[Result]) -> str:
    """The smallest gap against the largest, and what it costs, each with its interval and significance."""
    gap = f"{registry.lookup('environment', results[0].spec.scenario).main_rate}_gap"
    names = labels([result.spec for result in results])
    title = table_columns.title(gap)
    known = [(r, name) for r, name in zip(results, names, strict=True) if not np.isnan(r.summary[gap][0])]
    if len(known) < 2:
        return f"Fewer than two methods have a {title}, so there is nothing to compare."
    largest, smallest = (choose(known, key=lambda pair: pair[0].summary[gap][0]) for choose in (max, min))
    (base, base_name), (result, name) = largest, smallest
    if result.summary[gap][0] == base.summary[gap][0]:
        return f"The {title} is {number(*base.summary[gap])} with all methods."
    columns = (gap, "average_return")
    return f"{name} instead of {base_name}: {differences_in_words(result, base, columns, number)}."
