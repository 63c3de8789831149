"""The gauge as a dial: return against the lowest recall of a group, as kappa grows, and the best that is possible.

Trains what is not in the folder of results yet, then draws docs/images/gauge.png:

    python examples/gauge.py [--seeds 5] [--steps 400000] [--out runs] [--figure docs/images/gauge.png]
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import bisimulator
from bisimulator import registry
from bisimulator.exact import chain
from bisimulator.jobs.run import run
from bisimulator.jobs.spec import make_spec

FIGURE = Path(__file__).parents[1] / "docs" / "images" / "gauge.png"
METHOD = "ppo-bisimulator-reward"
KAPPAS = (-0.12, -0.09, -0.06, -0.04, -0.02, 0.0)  # 0: nothing is paid for accepting, the default
# Okabe and Ito's colours: apart also for the colour-blind; shapes differ too, for print
BLUE, ORANGE, GREEN = "#0072b2", "#d55e00", "#009e73"
INK, PALE = "#333333", "#777777"


@dataclasses.dataclass(frozen=True)
class Point:
    """A method on the picture: every seed's lowest recall and return."""

    label: str
    recall: np.ndarray
    value: np.ndarray
    colour: str
    marker: str

    @property
    def place(self) -> tuple[float, float]:
        return float(self.recall.mean()), float(self.value.mean())


def main(
    figure: Path = FIGURE,
    out: Path = Path("runs"),
    seeds: int = 5,
    steps: int = 400_000,
    kappas: tuple[float, ...] = KAPPAS,
    **options: Any,
) -> None:
    """`options` go to `make_spec`: settings of lending, evaluation episodes, another configuration of the solver."""
    config = registry.lookup("method", METHOD).config

    def trained(label: str, method: str, colour: str, marker: str, config: Any = None) -> Point:
        spec = make_spec("lending", method, config=config, view="life", seeds=seeds, steps=steps, **options)
        columns = run(spec, out).columns
        recalls = [columns[f"recall_g{g}"].mean(1) for g in (1, 2)]
        point = Point(label, np.min(recalls, axis=0), columns["average_return"].mean(1), colour, marker)
        print(f"{label:28} lowest recall {point.place[0]:.3f}, return {point.place[1]:.1f}")
        return point

    dial = []
    for kappa in kappas:
        fixed = dataclasses.replace(config, gauge="kappa", kappa=kappa)
        dial.append(trained(f"κ = {kappa:g}" + " (the default)" * (kappa == 0), METHOD, BLUE, "o", fixed))
    plain = trained("plain PPO", "ppo", ORANGE, "s")
    draw(bisimulator.make("lending", **options.get("settings", {})), dial, plain, figure)
    print(f"wrote {figure}")


def draw(env: bisimulator.Env, dial: list[Point], plain: Point, path: Path) -> None:
    everybody = chain.expect(env, np.ones((2, env.params.num_scores)))
    accept_all = Point("accept everybody", np.ones(1), np.array([everybody.average_return]), GREEN, "^")
    points = [*dial, plain, accept_all]
    left = min(float(p.recall.min()) for p in points) - 0.03
    best = bisimulator.frontier(env, levels=np.clip(np.linspace(left, 1, 61), 0, 1))

    plt.rcParams.update({"font.size": 10, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": PALE})
    figure, axes = plt.subplots(figsize=(9, 5.2))
    axes.plot(best.levels, best.upper_bound, color=INK, linewidth=1.8)
    axes.plot(best.levels, best.stationary_value, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
    places = np.array([p.place for p in dial])
    axes.plot(places[:, 0], places[:, 1], color=BLUE, linewidth=1.5, zorder=2)
    for point in points:
        axes.scatter(point.recall, point.value, s=10, color=point.colour, alpha=0.3, linewidths=0, zorder=2)
        axes.scatter(
            *point.place, s=60, color=point.colour, marker=point.marker, edgecolors="white", zorder=4
        )
    low, high = axes.get_ylim()
    axes.set_xlim(left, 1 + 0.004)
    axes.set_ylim(low - 0.05 * (high - low), high + 0.06 * (high - low))
    label_curves(axes, best, left)
    label_points(axes, points)
    axes.set_xlabel("lowest recall of a group: of those who would repay, the share that gets the loan")
    axes.set_ylabel("return of an episode")
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(
        "The offset κ tips the method from rejecting a group to accepting all",
        x=0.012,
        ha="left",
        fontsize=13,
        weight="bold",
    )
    seeds = len(plain.recall)
    figure.text(
        0.012,
        0.9,
        f"Lending, PPO on lives with the reward correction. Large: mean of {seeds} seeds; small: each seed",
        color=PALE,
    )
    figure.tight_layout(rect=(0, 0, 1, 0.92))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
    plt.close(figure)


def label_curves(axes: Any, best: Any, left: float) -> None:
    start = left + 0.01 * (1 - left)
    for height, words, above in (
        (best.upper_bound[0], "no policy can be above this line (proven)", True),
        (best.stationary_value[0], "best found that sees score and group only", False),
    ):
        axes.annotate(
            words,
            (start, height),
            (0, 4 if above else -4),
            textcoords="offset points",
            va="bottom" if above else "top",
            color=INK,
            fontsize=9,
        )


def label_points(axes: Any, points: list[Point]) -> None:
    """Beside the point where there is room; those near full recall on the right margin, spread out, with a line."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    near = right - 0.1 * (right - left)
    crowded = sorted((p for p in points if p.place[0] > near), key=lambda p: -p.place[1])
    step = 0.052 * (high - low)
    heights = spread([p.place[1] for p in crowded], step, low)
    for point, height in zip(crowded, heights, strict=True):
        axes.annotate(
            point.label,
            point.place,
            (1.03, (height - low) / (high - low)),
            textcoords="axes fraction",
            va="center",
            color=point.colour,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": point.colour,
                "linewidth": 0.7,
                "shrinkA": 1,
                "shrinkB": 5,
                "relpos": (0, 0.5),
            },
        )
    for point in points:
        if point not in crowded:  # below it on the right: the curve rises to the right
            axes.annotate(
                point.label,
                point.place,
                (7, -6),
                textcoords="offset points",
                va="top",
                color=point.colour,
            )


def spread(wanted: list[float], step: float, least: float) -> list[float]:
    """Falling heights near the wanted ones, at least `step` apart and none below `least`."""
    heights: list[float] = []
    for height in wanted:
        heights.append(min(height, heights[-1] - step) if heights else height)
    # a label moves down by what those above need; half of that is given back to all of them
    moved = max((w - h for w, h in zip(wanted, heights, strict=True)), default=0.0)
    heights = [height + moved / 2 for height in heights]
    lift = max(0.0, least - heights[-1]) if heights else 0.0
    return [height + lift for height in heights]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=400_000, help="of training, for each seed")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder of the results")
    parser.add_argument("--figure", type=Path, default=FIGURE)
    main(**vars(parser.parse_args()))
