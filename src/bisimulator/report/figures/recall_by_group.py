"""Many groups: the main rate of each (recall), and its mean, SD and gap over groups, for every method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bisimulator.jobs.store import Result
from bisimulator.report._by_scenario import ScenarioResults, by_scenario
from bisimulator.report._table_columns import heading, title
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures import _labels as labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT = 2.6
MANY = 3  # groups; the tables have the recalls of two
_OVER_GROUPS = ("mean", "sd", "gap")


def draw(results: Sequence[Result]) -> dict[str, Figure]:
    """`SCENARIO-groups` for scenarios with more than two groups."""
    return {
        f"{scenario.name}-groups": _figure(scenario)
        for scenario in by_scenario(results)
        if scenario.env.num_groups >= MANY
    }


def _figure(scenario: ScenarioResults) -> Figure:
    rate = scenario.env.scenario.main_rate
    note = "After the training, with 95% intervals over seeds."
    if any(entry.paper for entry in scenario.entries):
        note += " Hollow: the paper's numbers."
    with canvas.style():
        figure, axes = canvas.panels(
            1,
            1 + len(_OVER_GROUPS),
            width=3.0,
            height=HEIGHT + 0.6,
            title=f"{scenario.name}: {title(f'{rate}_g1').partition(',')[0]} of each group",
            note=note,
            width_ratios=(2.4, 1, 1, 1),
        )
        _each(axes[0, 0], scenario)
        for axis, column in zip(axes[0, 1:], _OVER_GROUPS, strict=True):
            _over(axis, scenario, f"{rate}_{column}")
        axes[0, 1].set_yticks(range(len(scenario.entries)), [entry.short for entry in scenario.entries])
    return figure


def _each(axis: Axes, scenario: ScenarioResults) -> None:
    groups, rate = scenario.env.num_groups, scenario.env.scenario.main_rate
    numbers, ends = np.arange(1, groups + 1), []
    for e, entry in enumerate(scenario.entries):
        mean, half = np.array([entry.result.summary[f"{rate}_g{g}"] for g in numbers]).T
        look = canvas.point(entry.style, markersize=canvas.marker_size(5, groups))
        places = numbers + canvas.aside(e, len(scenario.entries))
        axis.errorbar(places, mean, np.nan_to_num(half), elinewidth=0.8, **look)
        ends.append((float(mean[-1]), entry.short, entry.style.colour))
    canvas.group_axis(axis, groups)
    axis.set_ylim(0, 1.05 if scenario.env.scenario.applicants else None)
    axis.set_title(heading(f"{rate}_g1").partition(",")[0])
    labels.label_ends(axis, [end for end in ends if not np.isnan(end[0])], HEIGHT)


def _over(axis: Axes, scenario: ScenarioResults, column: str) -> None:
    """One row per method."""
    for row, entry in enumerate(scenario.entries):
        mean, half = entry.result.summary[column]
        if column in entry.paper:
            axis.plot(entry.paper[column].mean, row + 0.18, **canvas.hollow(entry.style))
        axis.errorbar(mean, row, None, np.nan_to_num(half), elinewidth=1, **canvas.point(entry.style))
    axis.set_title(heading(column))
    axis.set_yticks(range(len(scenario.entries)), [""] * len(scenario.entries))
    axis.set_ylim(len(scenario.entries) - 0.5, -0.5)
    axis.margins(x=0.12)
