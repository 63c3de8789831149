"""Scores at the start: the distribution of each group's scores before the first decision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import jax
import numpy as np
from jaxtyping import Array, Float, Key

from bisimulator.core import Values, make, score_histograms
from bisimulator.jobs.store import Result
from bisimulator.report._by_scenario import ScenarioResults, by_scenario
from bisimulator.report._styles import group_colours
from bisimulator.report.figures import _canvas as canvas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEIGHT = 2.4
_DRAWS = 50  # populations drawn
_MAX_BARS = 3  # groups that bars can show side by side


def draw(results: Sequence[Result]) -> dict[str, Figure]:
    """`SCENARIO-initial` for every scenario in which people have scores."""
    return {
        f"{scenario.name}-initial": _figure(scenario.name, shares(scenario))
        for scenario in by_scenario(results)
        if scenario.env.scenario.applicants
    }


def shares(scenario: ScenarioResults) -> Float[Values, "G C"]:
    """The share of each group at each true score, over many populations drawn at reset."""
    spec = scenario.entries[0].result.spec
    return _shares(spec.scenario, json.dumps(spec.settings, sort_keys=True))


@cache
def _shares(scenario: str, settings: str) -> Float[Values, "G C"]:
    env = make(scenario, **json.loads(settings))

    def one(key: Key[Array, ""]) -> Float[Array, "G C"]:
        snapshot = env.scenario.snapshot(env.reset(key))
        true_scores: Float[Array, "G C"] = score_histograms(snapshot, env.num_groups, env.params.num_scores)[
            0
        ]
        return true_scores

    counts = jax.lax.map(one, jax.random.split(jax.random.key(0), _DRAWS))
    people = np.asarray(counts, np.float64).sum(0)
    result: Values = people / people.sum(-1, keepdims=True).clip(1)
    return result


def _figure(scenario: str, table: Float[Values, "G C"]) -> Figure:
    groups, scores = table.shape
    with canvas.style():
        figure, axes = canvas.panels(
            1, 1, width=5.2, height=HEIGHT + 0.6, title=f"{scenario}: scores at the start"
        )
        axis, colours = axes[0, 0], group_colours(groups)
        if groups <= _MAX_BARS:
            width = 0.8 / groups
            for g, share in enumerate(table):
                place = np.arange(scores) + width * (g - (groups - 1) / 2)
                axis.bar(place, share, 0.92 * width, color=colours[g], label=f"group {g + 1}")
        else:
            labelled = canvas.labelled_groups(groups)
            look: canvas.Keywords = {"marker": "o", "ms": canvas.marker_size(3, groups)}
            for g, share in enumerate(table):
                label = f"group {g + 1}" if g + 1 in labelled else None
                axis.plot(np.arange(scores), share, color=colours[g], label=label, **look)
        axis.set_xticks(range(scores))
        axis.set_ylim(bottom=0)
        axis.grid(visible=False, axis="x")
        axis.set_xlabel("score")
        axis.set_ylabel("share of the group")
        axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return figure
