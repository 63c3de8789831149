"""The summary: how much of the paper is matched or beaten, sentences about each scenario, and the statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bisimulator import published, registry
from bisimulator.jobs.store import Result
from bisimulator.report import statistics
from bisimulator.report._by_scenario import ScenarioResults, by_scenario
from bisimulator.report._table_columns import short_title
from bisimulator.report.sentences import paper_sentence, scenario_sentences
from bisimulator.report.tables import Grid, markdown, markdown_text, missing_note
from bisimulator.report.verdicts import VerdictCounts, compare_with_paper, count_verdicts

_DEFINITIONS = """\
Both numbers are taken as the paper prints them, mean and half width to two decimals. Matched: the two 95% intervals
overlap. Beaten: they do not, and ours is better, that is a higher return or recall, or a lower gap, spread (SD) or
burden. Missed: they do not, and ours is worse. Within: of the matched ones, those where our mean lies in the published
interval itself. Only by width: of the matched ones, those that would not be if our intervals were no wider than the
published ones. Width: the median of our intervals' widths in published widths; few seeds have wide intervals, which
overlap easily."""

_IQM = "The mean of the middle half of the seeds with its 95% bootstrap interval. One unusual seed cannot move it far."
_PAIRED = (
    "A method minus plain PPO, paired by seed (both are evaluated with the same random numbers), with its 95% "
    "interval. There is no correction for multiple comparisons."
)


def paper_scenarios() -> list[str]:
    with_table = {scenario for scenario, _, _ in published.results()}
    return [name for name in registry.names("environment") if name in with_table]


def counts_by_scenario(results: Sequence[Result]) -> dict[str, VerdictCounts]:
    """Counts for every scenario of the paper, and "all" for the sum."""
    compared = compare_with_paper(results)
    by_name = {name: count_verdicts(compared, name) for name in paper_scenarios()}
    return by_name | {"all": count_verdicts(compared)}


def markdown_summary(results: Sequence[Result]) -> str:
    rows = [[name, *_cells(c)] for name, c in counts_by_scenario(results).items()]
    head = ["scenario", "matched", "beaten", "missed", "not run", "published", "matched or beaten", "within"]
    head += ["only by width", "width"]
    parts = [
        "# Summary",
        markdown_text(paper_sentence(results)),
        markdown(Grid(head, rows)),
        _DEFINITIONS,
        *(_section(scenario) for scenario in by_scenario(results)),
    ]
    return "\n\n".join(parts) + "\n"


def _cells(counts: VerdictCounts) -> list[str]:
    numbers = (*counts.by_verdict.values(), counts.total, counts.matched + counts.beaten)
    width = "" if math.isnan(counts.width) else f"{counts.width:.2f}"
    return [*map(str, (*numbers, counts.within, counts.only_by_width)), width]


def _section(scenario: ScenarioResults) -> str:
    parts = [f"## {markdown_text(scenario.name)}"]
    parts.append("\n".join(f"- {markdown_text(sentence)}" for sentence in scenario_sentences(scenario)))
    if scenario.missing:
        parts.append(markdown_text(missing_note(scenario)))
    parts += ["### Interquartile means", _IQM, markdown(iqm_grid(scenario))]
    differences = difference_grid(scenario)
    if differences is not None:
        parts += ["### Differences from plain PPO", _PAIRED, markdown(differences)]
    return "\n\n".join(parts)


def iqm_grid(scenario: ScenarioResults) -> Grid:
    rows = [
        [
            entry.label,
            *(statistics.interval_text(statistics.iqm(entry, column)) for column in scenario.columns),
        ]
        for entry in scenario.entries
    ]
    return Grid(["method", *map(short_title, scenario.columns)], rows)


def difference_grid(scenario: ScenarioResults) -> Grid | None:
    """None if plain PPO was not run, or nothing else was."""
    base = scenario.find(statistics.BASELINE)
    others = [entry for entry in scenario.entries if entry is not base]
    if base is None or not others:
        return None
    rows = [
        [
            entry.label,
            *(
                statistics.difference_text(statistics.paired_difference(entry.result, base.result, column))
                for column in scenario.columns
            ),
        ]
        for entry in others
    ]
    return Grid(["method", *map(short_title, scenario.columns)], rows)
