"""The numbers behind the page's charts, as plain lists for JSON. The page's scripts know nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from bisimulator.report._by_scenario import Entry, Scene
from bisimulator.report._table_columns import bounds, title
from bisimulator.report.figures._canvas import written_groups
from bisimulator.report.figures.approvals_over_time import cumulative, shown_groups, what
from bisimulator.report.figures.initial_scores import shares
from bisimulator.report.figures.learning_curve_figures import band, has_curve
from bisimulator.report.figures.observed_scores import SEEN, TRUE
from bisimulator.report.figures.tradeoff import gaps
from bisimulator.report.statistics import BASELINE

Chart = dict[str, Any]
RETURN = "average_return"


def plain(value: Any) -> Any:
    """A number with five digits, None where it is not known: JSON has no NaN."""
    number = float(value)
    if not math.isfinite(number):
        return None
    short = float(f"{number:.5g}")
    return int(short) if short == int(short) else short


def plain_list(values: Iterable[Any]) -> list[Any]:
    return [plain(value) for value in values]


def line_chart(label: str, x_title: str, series: list[Any], **other: Any) -> Chart:
    return {"kind": "line", "label": label, "xTitle": x_title, "series": series, **other}


def tradeoff(scene: Scene) -> Chart:
    """One option a measure of unfairness."""
    options = []
    for column in gaps(scene):
        x_title = f"{title(column)} (left is fairer)"
        series = [_point(entry, column, entry.result.summary) for entry in scene.entries]
        paper = [_point(e, column, e.paper) for e in scene.entries if column in e.paper]
        label = f"Average return against {title(column)} in {scene.scenario}, a point a method"
        options.append(
            {
                "label": label,
                "xTitle": x_title,
                "yTitle": title(RETURN),
                "xBounds": bounds(column),
                "series": series,
                "paper": paper,
            }
        )
    return {"kind": "scatter", "options": options}


def _point(entry: Entry, column: str, values: Any) -> dict[str, Any]:
    (x, x_half), (y, y_half) = values[column], values[RETURN]
    return {
        "method": entry.key,
        "x": plain(x),
        "xHalf": plain(x_half),
        "y": plain(y),
        "yHalf": plain(y_half),
    }


def curves(scene: Scene, column: str) -> Chart | None:
    trained = [
        entry for entry in scene.entries if entry.result.curves and column in entry.result.curves.values
    ]
    if not trained:
        return None
    series = [_band(entry, column) if entry in trained else _level(entry, column) for entry in scene.entries]
    return line_chart(
        f"{title(column)} over the training in {scene.scenario}, a line a method",
        "steps of training",
        series,
        yBounds=bounds(column),
    )


def _band(entry: Entry, column: str, **other: Any) -> dict[str, Any]:
    steps, mean, half = band(entry, column)
    return {
        "method": entry.key,
        "x": steps.tolist(),
        "y": plain_list(mean),
        "half": plain_list(half),
        **other,
    }


def _level(entry: Entry, column: str) -> dict[str, Any]:
    mean, half = entry.result.summary[column]
    return {"method": entry.key, "y": [plain(mean)], "half": [plain(half)]}


def observed(scene: Scene) -> Chart | None:
    """Figure 2: the true gap and the one that the agent sees."""
    learned = [entry for entry in scene.entries if entry.omega is not None and has_curve(entry, SEEN)]
    if not learned:
        return None
    plain_ones = [e for e in scene.entries if e.published_name == BASELINE and has_curve(e, TRUE)]
    series = [_band(e, TRUE, label=f"{e.label}, true", dash=None) for e in learned + plain_ones]
    series += [_band(e, SEEN, label=f"{e.label}, observed", dash="3 3") for e in learned]
    label = f"True and observed credit gap over the training in {scene.scenario}"
    return line_chart(label, "steps of training", series, yBounds=bounds(TRUE))


def approvals(scene: Scene) -> list[tuple[str, Chart]]:
    found = [(entry, *cumulative(entry)) for entry in scene.entries]
    charts = []
    for group in shown_groups(found[0][2].shape[1]):
        series = [
            {"method": entry.key, "x": plain_list(steps), "y": plain_list(values[:, group])}
            for entry, steps, values in found
        ]
        name = f"Group {group + 1}"
        label = f"{what(scene.scenario).capitalize()} of group {group + 1} so far over an episode"
        charts.append((name, line_chart(label, "decisions", series, fromZero=True)))
    return charts


def recalls(scene: Scene) -> Chart:
    """Recall of each group."""
    groups = list(range(1, scene.entries[0].result.spec.make_env().num_groups + 1))
    series = []
    for entry in scene.entries:
        pairs = [entry.result.summary[f"recall_g{g}"] for g in groups]
        mean, half = zip(*pairs, strict=True)
        series.append({"method": entry.key, "x": groups, "y": plain_list(mean), "half": plain_list(half)})
    label = f"Recall of each group in {scene.scenario}, a line a method"
    ticks = {"places": written_groups(len(groups)), "digits": 0}
    return line_chart(label, "group", series, xTicks=ticks, yBounds=bounds("recall"), fromZero=True)


def initial(scene: Scene) -> Chart:
    table = shares(scene)
    scores = list(range(table.shape[1]))
    series = [
        {
            "label": f"group {g}",
            "colour": f"var(--g{table.shape[0]}-{g - 1})",
            "x": scores,
            "y": plain_list(table[g - 1]),
        }
        for g in written_groups(table.shape[0])
    ]
    of = "each group" if len(series) == table.shape[0] else "some of the groups"
    label = f"Share of {of} at each score at the start of {scene.scenario}"
    return line_chart(label, "score", series, xTicks={"places": scores, "digits": 0}, fromZero=True)


def looks(scenes: Sequence[Scene]) -> dict[str, Any]:
    """How each method looks; colours are variables, because a dark screen has others."""
    entries = {entry.key: entry for scene in scenes for entry in scene.entries}
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
