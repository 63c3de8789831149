"""What a goal costs with and without looking at the group, for lending and the people of 2003.

    python benchmarks/group_blind.py [--seeds 5] [--out runs/group-blind] [--docs docs]

The best return at each minimum recall is proven for any policy; policies by score and group, and by score alone, are
the best ones found. PPO is trained both ways with three goals. Jobs that are finished are not repeated. It takes
about 5 minutes on 2 cores. With --docs it writes the table of docs/exact/frontier.md and its picture.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from bisimulator_views import filled
from goal_table import expectations

import bisimulator
from bisimulator import files
from bisimulator.exact.frontier import Frontier
from bisimulator.report.figures import _canvas as canvas
from bisimulator.report.figures.learned_frontier_figure import BLIND, LEARNED, draw_exact
from bisimulator.report.tables import Grid, markdown

SCENARIOS = ("lending", "lending-us-2003")
LEVELS = (0.8, 0.9, 0.95)  # of the goals that PPO is trained with
CURVE = np.round(np.arange(0.7, 0.9801, 0.02), 2)
Points = list[tuple[float, float]]  # lowest recall and return, means over seeds


def train(scenario: str, level: float, blind: bool, seeds: int, out: Path) -> tuple[float, float]:
    exact = expectations(scenario, "ppo", f"min-recall={level}", seeds, out, group_blind=blind)
    return float(np.mean([e.recall.min() for e in exact])), float(np.mean([e.average_return for e in exact]))


def table(fronts: dict[str, Frontier], learned: dict[tuple[str, bool], Points]) -> Grid:
    """One row per environment and level of the goal."""
    head = ["environment", "min-recall", "any policy", "by score and group", "by score alone", "cost"]
    rows = []
    for scenario, front in fronts.items():
        for i, level in enumerate(front.levels):
            assert front.group_blind_value is not None
            best, blind = front.stationary_value[i], front.group_blind_value[i]
            row = [scenario, f"{level:g}", *(f"{x:.0f}" for x in (front.value[i], best, blind))]
            rows.append([*row, f"{100 * (1 - blind / best):.1f}%", *_trained(scenario, level, learned)])
    return Grid([*head, "PPO, sees the group", "PPO, group-blind"], rows)


def _trained(scenario: str, level: float, learned: dict[tuple[str, bool], Points]) -> list[str]:
    points = [learned[scenario, blind][LEVELS.index(level)] for blind in (False, True)]
    return [f"{value:.0f} at {recall:.3f}" for recall, value in points]


def draw(
    curves: dict[str, Frontier], learned: dict[tuple[str, bool], Points], path: Path, seeds: int
) -> None:
    """Both frontiers of both environments, with what PPO has learned."""
    with canvas.style():
        figure, axes = canvas.panels(
            1,
            len(curves),
            width=4.4,
            height=3.6,
            title="What a minimum recall costs, with and without looking at the group",
            note=f"PPO with goals of {', '.join(f'{level:g}' for level in LEVELS)}, means of {seeds} seeds.",
        )
        for axis, (scenario, curve) in zip(axes[0], curves.items(), strict=True):
            draw_exact(axis, curve)
            for blind, color, label in ((False, LEARNED, "PPO"), (True, BLIND, "PPO, group-blind")):
                recalls, returns = np.array(learned[scenario, blind]).T
                axis.plot(recalls, returns, "o", color=color, markeredgecolor="white", label=label, zorder=3)
            axis.set_title(scenario)
            axis.set_xlabel("lowest recall of a group")
            axis.set_ylabel("average return")
        axes[0, 0].legend(loc="lower left")
        files.write_bytes(path, canvas.encode(figure, "svg"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("runs/group-blind"))
    parser.add_argument("--docs", type=Path, default=None, help="the folder of the documentation to write to")
    options = parser.parse_args()
    envs = {scenario: bisimulator.make(scenario) for scenario in SCENARIOS}
    fronts, curves = (
        {s: bisimulator.frontier(env, "min-recall", levels, group_blind=True) for s, env in envs.items()}
        for levels in (LEVELS, CURVE)
    )
    learned = {
        (scenario, blind): [train(scenario, level, blind, options.seeds, options.out) for level in LEVELS]
        for scenario in SCENARIOS
        for blind in (False, True)
    }
    text = markdown(table(fronts, learned), numbers_from=1)
    print(text)
    if options.docs:
        page = options.docs / "exact" / "frontier.md"
        files.write_bytes(page, filled(page.read_text(encoding="utf-8"), "blind", text).encode())
        draw(curves, learned, options.docs / "images" / "group_blind.svg", options.seeds)


if __name__ == "__main__":
    main()
