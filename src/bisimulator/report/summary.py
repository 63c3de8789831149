"""The summary of everything: how much of the paper is matched or beaten, what was found, and the statistics."""

from __future__ import annotations

from collections.abc import Sequence

from bisimulator import published, registry
from bisimulator.jobs.run import Result
from bisimulator.report import findings, statistics
from bisimulator.report._by_scenario import Scene, scenes
from bisimulator.report._table_columns import short_title
from bisimulator.report.tables import Grid, markdown, markdown_text, missing_note
from bisimulator.report.verdicts import Score, compare, score

_DEFINITIONS = """\
Both numbers are taken as the paper prints them, mean and half width to two decimals. Matched: the two 95% intervals
overlap. Beaten: they do not, and ours is better, that is a higher return or recall, or a lower gap, spread (SD) or
burden. Missed: they do not, and ours is worse. Within: of the matched ones, those where our mean lies in the published
interval itself."""

_IQM = "The mean of the middle half of the seeds, which one odd seed cannot move far, with its 95% bootstrap interval."
_PAIRED = (
    "A method minus plain PPO, seed by seed (both are evaluated on the same random numbers), with its 95% interval. "
    "Intervals are not corrected for the number of comparisons."
)


def paper_scenarios() -> list[str]:
    with_table = {scenario for scenario, _, _ in published.results()}
    return [name for name in registry.names("environment") if name in with_table]


def tally(results: Sequence[Result]) -> dict[str, Score]:
    """Scenario -> score, for every scenario of the paper, and "all" for the sum."""
    compared = compare(results)
    return {name: score(compared, name) for name in paper_scenarios()} | {"all": score(compared)}


def markdown_summary(results: Sequence[Result]) -> str:
    rows = [
        [name, *map(str, (*s.counts.values(), s.total, s.matched + s.beaten, s.within))]
        for name, s in tally(results).items()
    ]
    head = ["scenario", "matched", "beaten", "missed", "not run", "published", "matched or beaten", "within"]
    parts = [
        "# Summary",
        markdown_text(findings.score_sentence(results)),
        markdown(Grid(head, rows)),
        _DEFINITIONS,
        *(_scene(scene) for scene in scenes(results)),
    ]
    return "\n\n".join(parts) + "\n"


def _scene(scene: Scene) -> str:
    parts = [f"## {markdown_text(scene.scenario)}"]
    parts.append("\n".join(f"- {markdown_text(sentence)}" for sentence in findings.of_scene(scene)))
    if scene.missing:
        parts.append(markdown_text(missing_note(scene)))
    parts += ["### Interquartile means", _IQM, markdown(iqm_grid(scene))]
    differences = difference_grid(scene)
    if differences is not None:
        parts += ["### Against plain PPO", _PAIRED, markdown(differences)]
    return "\n\n".join(parts)


def iqm_grid(scene: Scene) -> Grid:
    rows = [
        [entry.label, *(statistics.show(statistics.iqm(entry, column)) for column in scene.columns)]
        for entry in scene.entries
    ]
    return Grid(["method", *map(short_title, scene.columns)], rows)


def difference_grid(scene: Scene) -> Grid | None:
    """None where plain PPO was not run, or nothing else."""
    base = scene.find(statistics.BASELINE)
    others = [entry for entry in scene.entries if entry is not base]
    if base is None or not others:
        return None
    rows = [
        [
            entry.label,
            *(statistics.difference_text(statistics.against(entry, base, c)) for c in scene.columns),
        ]
        for entry in others
    ]
    return Grid(["method", *map(short_title, scene.columns)], rows)
