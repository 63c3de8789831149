"""The numbers behind the page's charts, as plain lists for JSON. The page's scripts see nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import SupportsFloat, TypeAlias

from bisimulator.jobs.references import ACCEPT_ALL, Reference
from bisimulator.report._by_scenario import JobEntry, ScenarioResults
from bisimulator.report._styles import style
from bisimulator.report._table_columns import bounds, heading, title
from bisimulator.report.figures._canvas import labelled_groups
from bisimulator.report.figures.approvals_over_time import cumulative, shown_groups
from bisimulator.report.figures.initial_scores import shares
from bisimulator.report.figures.learning_curve_figures import band, has_curve
from bisimulator.report.figures.observed_scores import OBSERVED, TRUE
from bisimulator.report.figures.tradeoff import RETURN, gaps
from bisimulator.report.statistics import BASELINE

Json: TypeAlias = Mapping[str, object]
Chart: TypeAlias = Json


def plain(value: SupportsFloat) -> float | int | None:
    """A number with five digits; None if it is unknown, because JSON has no NaN."""
    number = float(value)
    if not math.isfinite(number):
        return None
    short = float(f"{number:.5g}")
    return int(short) if short == int(short) else short


def plain_list(values: Iterable[SupportsFloat]) -> list[float | int | None]:
    return [plain(value) for value in values]


def line_chart(label: str, x_title: str, series: Sequence[Json], **other: object) -> Chart:
    return {"kind": "line", "label": label, "xTitle": x_title, "series": series, **other}


def tradeoff(scenario: ScenarioResults, reference: Reference) -> Chart:
    """One option per measure of unfairness."""
    options = [
        {
            "label": f"Average return against {title(column)} in {scenario.name}, one point per method",
            "xTitle": f"{title(column)} (left is fairer)",
            "yTitle": title(RETURN),
            "xBounds": bounds(column),
            "series": [_point(entry.key, column, entry.result.summary) for entry in scenario.entries],
            "paper": [_point(e.key, column, e.paper) for e in scenario.entries if column in e.paper],
            **_references(reference, column),
        }
        for column in gaps(scenario)
    ]
    return {"kind": "scatter", "options": options}


def _references(reference: Reference, column: str) -> Json:
    """Accept-all, if it is not one of the methods, and the frontier."""
    known: dict[str, object] = {}
    if column in reference.accept_all:
        point = _point(None, column, reference.accept_all)
        look = {"label": ACCEPT_ALL, "colour": "var(--accept-all)", "marker": style(ACCEPT_ALL).marker}
        known["references"] = [point | look]
    if column in reference.frontiers:
        known["frontier"] = [plain_list(values) for values in reference.frontiers[column]]
    return known


def _point(method: str | None, column: str, values: Mapping[str, tuple[float, float]]) -> dict[str, object]:
    (x, x_half), (y, y_half) = values[column], values[RETURN]
    return {
        "method": method,
        "x": plain(x),
        "xHalf": plain(x_half),
        "y": plain(y),
        "yHalf": plain(y_half),
    }


def curves(scenario: ScenarioResults, column: str) -> Chart | None:
    if not any(has_curve(entry, column) for entry in scenario.entries):
        return None
    series = [
        _band(entry, column) if has_curve(entry, column) else _level(entry, column)
        for entry in scenario.entries
    ]
    label = f"{title(column)} during training in {scenario.name}, one line per method"
    return line_chart(label, "training steps", series, yBounds=bounds(column))


def _band(entry: JobEntry, column: str, **other: object) -> Json:
    steps, mean, half = band(entry, column)
    return {
        "method": entry.key,
        "x": steps.tolist(),
        "y": plain_list(mean),
        "half": plain_list(half),
        **other,
    }


def _level(entry: JobEntry, column: str) -> Json:
    mean, half = entry.result.summary[column]
    return {"method": entry.key, "y": [plain(mean)], "half": [plain(half)]}


def observed(scenario: ScenarioResults) -> Chart | None:
    """Figure 2: the true credit gap and the one that the agent observes."""
    entries = scenario.entries
    learned = [entry for entry in entries if entry.omega is not None and has_curve(entry, OBSERVED)]
    if not learned:
        return None
    baselines = [e for e in entries if e.published_name == BASELINE and has_curve(e, TRUE)]
    series = [_band(e, TRUE, label=f"{e.label}, true", dash=None) for e in learned + baselines]
    series += [_band(e, OBSERVED, label=f"{e.label}, observed", dash="3 3") for e in learned]
    label = f"True and observed credit gap during training in {scenario.name}"
    return line_chart(label, "training steps", series, yBounds=bounds(TRUE))


def approvals(scenario: ScenarioResults) -> list[tuple[str, Chart]]:
    """One chart per shown group."""
    words = scenario.env.scenario.vocabulary.approvals
    lines = [(entry, *cumulative(entry)) for entry in scenario.entries]
    charts = []
    for group in shown_groups(scenario.env.num_groups):
        series = [
            {"method": entry.key, "x": plain_list(steps), "y": plain_list(values[:, group])}
            for entry, steps, values in lines
        ]
        label = f"Cumulative {words} of group {group + 1} over an episode"
        charts.append((f"Group {group + 1}", line_chart(label, "decisions", series, fromZero=True)))
    return charts


def recalls(scenario: ScenarioResults) -> Chart:
    """The main rate of each group."""
    rate = scenario.env.scenario.main_rate
    groups = list(range(1, scenario.env.num_groups + 1))
    series = []
    for entry in scenario.entries:
        pairs = [entry.result.summary[f"{rate}_g{g}"] for g in groups]
        mean, half = zip(*pairs, strict=True)
        series.append({"method": entry.key, "x": groups, "y": plain_list(mean), "half": plain_list(half)})
    label = (
        f"{heading(f'{rate}_g1').partition(',')[0]} of each group in {scenario.name}, one point per method"
    )
    ticks = {"places": labelled_groups(len(groups)), "digits": 0}
    chart = line_chart(label, "group", series, xTicks=ticks, yBounds=bounds(f"{rate}_g1"), fromZero=True)
    return {**chart, "kind": "dots"}


def initial(scenario: ScenarioResults) -> Chart | None:
    """Scores at the start; none where nobody has a score."""
    if not scenario.env.scenario.applicants:
        return None
    table = shares(scenario)
    scores = list(range(table.shape[1]))
    series = [
        {
            "label": f"group {g}",
            "colour": f"var(--g{table.shape[0]}-{g - 1})",
            "x": scores,
            "y": plain_list(table[g - 1]),
        }
        for g in labelled_groups(table.shape[0])
    ]
    of = "each group" if len(series) == table.shape[0] else "some of the groups"
    label = f"Share of {of} at each score at the start of {scenario.name}"
    return line_chart(label, "score", series, xTicks={"places": scores, "digits": 0}, fromZero=True)


def looks(scenarios: Sequence[ScenarioResults]) -> Json:
    """How each method looks; colours are CSS variables, because a dark screen has others."""
    entries = {entry.key: entry for scenario in scenarios for entry in scenario.entries}
    return {
        key: {
            "label": entry.label,
            "colour": f"var(--m{i})",
            "dash": " ".join(f"{2 * length:g}" for length in entry.style.dash) or None,
            "marker": entry.style.marker,
            "method": key,
        }
        for i, (key, entry) in enumerate(entries.items())
    }
