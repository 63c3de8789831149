"""Scores at the start: who each group's people are before the first decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from bisimulator.core import Env, score_histograms
from bisimulator.experiments.run import Result
from bisimulator.report.colours import group_colours
from bisimulator.report.figures import canvas
from bisimulator.report.scenes import scenes

HEIGHT = 2.4
_DRAWS = 50  # populations drawn


def draw(results: Sequence[Result]) -> dict[str, Any]:
    figures = {}
    for scene in scenes(results):
        figures[f"{scene.scenario}-initial"] = _figure(
            scene.scenario, scene.entries[0].result.spec.make_env()
        )
    return figures


def shares(env: Env) -> np.ndarray:
    """(G, C): share of each group at each true score, over many populations drawn at reset."""

    def one(key: Any) -> Any:
        crowd = env.scenario.crowd(env.reset(key))
        return score_histograms(crowd, env.num_groups, env.params.num_scores)[0]

    people = np.asarray(jax.lax.map(one, jax.random.split(jax.random.key(0), _DRAWS)), np.float64).sum(0)
    return people / people.sum(-1, keepdims=True).clip(1)


def _figure(scenario: str, env: Env) -> Any:
    table = shares(env)
    groups, scores = table.shape
    with canvas.style():
        figure, axes = canvas.panels(
            1, 1, width=5.2, height=HEIGHT + 0.6, title=f"{scenario}: scores at the start"
        )
        axis, colours = axes[0, 0], group_colours(groups)
        if groups <= 3:
            width = 0.8 / groups
            for g, share in enumerate(table):
                place = np.arange(scores) + width * (g - (groups - 1) / 2)
                axis.bar(place, share, 0.92 * width, color=colours[g], label=f"group {g + 1}")
        else:
            for g, share in enumerate(table):
                axis.plot(
                    np.arange(scores), share, color=colours[g], marker="o", markersize=3, label=f"{g + 1}"
                )
        axis.set_xticks(range(scores))
        axis.grid(visible=False, axis="x")
        axis.set_xlabel("score")
        axis.set_ylabel("share of the group")
        axis.legend(ncols=1 if groups <= 3 else 2, title=None if groups <= 3 else "group")
    return figure
