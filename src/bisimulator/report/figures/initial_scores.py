"""Scores at the start: who each group's people are before the first decision."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import jax
import numpy as np

from bisimulator.core import make, score_histograms
from bisimulator.jobs.run import Result
from bisimulator.report._by_scenario import Scene, scenes
from bisimulator.report._styles import group_colours
from bisimulator.report.figures import _canvas as canvas

HEIGHT = 2.4
_DRAWS = 50  # populations drawn
_FEW = 3  # groups that bars can show side by side


def draw(results: Sequence[Result]) -> dict[str, Any]:
    figures = {}
    for scene in scenes(results):
        figures[f"{scene.scenario}-initial"] = _figure(scene.scenario, shares(scene))
    return figures


def shares(scene: Scene) -> np.ndarray:
    """(G, C): share of each group at each true score, over many populations drawn at reset."""
    spec = scene.entries[0].result.spec
    return _shares(spec.scenario, json.dumps(spec.settings, sort_keys=True))


@cache
def _shares(scenario: str, settings: str) -> np.ndarray:
    env = make(scenario, **json.loads(settings))

    def one(key: Any) -> Any:
        snapshot = env.scenario.snapshot(env.reset(key))
        return score_histograms(snapshot, env.num_groups, env.params.num_scores)[0]

    people = np.asarray(jax.lax.map(one, jax.random.split(jax.random.key(0), _DRAWS)), np.float64).sum(0)
    return people / people.sum(-1, keepdims=True).clip(1)


def _figure(scenario: str, table: np.ndarray) -> Any:
    groups, scores = table.shape
    with canvas.style():
        figure, axes = canvas.panels(
            1, 1, width=5.2, height=HEIGHT + 0.6, title=f"{scenario}: scores at the start"
        )
        axis, colours = axes[0, 0], group_colours(groups)
        if groups <= _FEW:
            width = 0.8 / groups
            for g, share in enumerate(table):
                place = np.arange(scores) + width * (g - (groups - 1) / 2)
                axis.bar(place, share, 0.92 * width, color=colours[g], label=f"group {g + 1}")
        else:
            written = canvas.written_groups(groups)
            look = {"marker": "o", "ms": canvas.marker_size(3, groups)}
            for g, share in enumerate(table):
                label = f"group {g + 1}" if g + 1 in written else None
                axis.plot(np.arange(scores), share, color=colours[g], label=label, **look)
        axis.set_xticks(range(scores))
        axis.set_ylim(bottom=0)
        axis.grid(visible=False, axis="x")
        axis.set_xlabel("score")
        axis.set_ylabel("share of the group")
        axis.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
    return figure
