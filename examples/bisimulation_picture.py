"""What the bisimulation metric sees: how differently two people will fare, for every pair of scores of two groups.

Draws bisimulation_distances.png and bisimulation_bounds.png into docs/images:

    python examples/bisimulation_picture.py [FOLDER]
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import block_diag

import bisimulator
from bisimulator import exact
from bisimulator.exact.certificate import View
from bisimulator.exact.chain import person_chain, visit_matrix

FOLDER = Path(__file__).parents[1] / "docs" / "images"
GAMMA = 0.99  # from one visit of a person to the next
INK, PALE = "#333333", "#777777"
BLUE, LIGHT, ORANGE = "#1b6ca8", "#a9cbe3", "#e07a1f"
# score from which each group is accepted; 0 is everybody
POLICIES = {
    "Group 1 everybody, group 2 from score 3": (0, 3),
    "Both from score 3": (3, 3),
    "Group 1 from score 3, group 2 everybody": (3, 0),
    "Everybody": (0, 0),
}
DRAWN = ("Group 1 everybody, group 2 from score 3", "Both from score 3", "Everybody")


@dataclasses.dataclass(frozen=True)
class Seen:
    """What the metric says of a policy."""

    name: str
    distance: np.ndarray  # (scores of group 1, scores of group 2)
    now: View  # the bank's reward, discounted per visit
    episode: View  # the bank's reward over an episode
    loans: View  # loans over an episode


def look(env: bisimulator.Env, name: str, levels: tuple[int, int]) -> Seen:
    """The metric from its definition, and the certificate, which is made of it."""
    p = env.params
    accept = (np.arange(p.num_scores) >= np.array(levels)[:, None]).astype(float)
    chance = np.asarray(p.qualified_probs, float)
    gain, loss = map(float, p.accept_rewards)
    reward = accept * (chance * gain + (1 - chance) * loss)
    groups = np.repeat([1, 2], p.num_scores)
    metric = exact.bisimulation_metric(
        block_diag(*visit_matrix(accept, person_chain(env))[0]), reward.ravel(), GAMMA, groups=groups
    )
    certificate = bisimulator.certify(env, accept, gamma=GAMMA)
    episode = [certificate.view(signal, "episode") for signal in ("reward", "loans")]
    return Seen(name, metric.distance, certificate.view(), *episode)


def look_at_all() -> list[Seen]:
    env = bisimulator.make("lending")
    return [look(env, name, levels) for name, levels in POLICIES.items()]


def markdown_rows(seen: list[Seen]) -> list[str]:
    """The table of docs/concepts.md."""
    return [
        f"| {s.name.lower()} | {s.now.values[0]:.1f} / {s.now.values[1]:.1f} | {s.now.gap:.1f} | {s.now.bound:.1f} "
        f"| {s.episode.gap:.1f} | {s.loans.gap:.1f} |"
        for s in seen
    ]


def main(folder: Path) -> None:
    seen = look_at_all()
    print("\n".join(markdown_rows(seen)))
    draw(seen, folder)


def draw(seen: list[Seen], folder: Path) -> None:
    plt.rcParams.update({"font.size": 10, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": PALE})
    plt.rcParams.update({"xtick.color": INK, "ytick.color": INK})
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in (("distances", draw_distances(seen)), ("bounds", draw_bounds(seen))):
        path = folder / f"bisimulation_{name}.png"
        figure.savefig(path, dpi=160)
        plt.close(figure)
        print(f"wrote {path}")


def draw_distances(seen: list[Seen]) -> Any:
    drawn = [s for s in seen if s.name in DRAWN]
    top = max(s.distance.max() for s in drawn)
    figure, axes = plt.subplots(1, len(drawn), figsize=(11, 4.9), sharey=True)
    for axis, s in zip(axes, drawn, strict=True):
        axis.imshow(s.distance, cmap="Blues", vmin=0, vmax=1.25 * top, origin="lower")
        for (i, j), d in np.ndenumerate(s.distance):
            colour = "white" if d > 0.7 * top else INK
            axis.text(j, i, f"{max(d, 0):.0f}", ha="center", va="center", fontsize=8.5, color=colour)
        assert s.now.pairing is not None
        i, j = np.nonzero(s.now.pairing > 1e-6)
        axis.scatter(j, i, s=2200 * s.now.pairing[i, j], facecolors="none", edgecolors=ORANGE, linewidths=2)
        axis.set_title(f"{s.name}\nbound {s.now.bound:.1f}, gap {s.now.gap:.1f}", loc="left", fontsize=10)
        axis.set_xlabel("score of the one of group 2")
        axis.set_xticks(range(s.distance.shape[1]))
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    axes[0].set_ylabel("score of the one of group 1")
    axes[0].set_yticks(range(seen[0].distance.shape[0]))
    head(
        figure,
        "Alike in treatment is 0 on the diagonal; alike in fate needs more",
        "Distance between two people's futures, in reward. Circles: who is paired with whom at the start, "
        "as large as their share",
    )
    figure.tight_layout(rect=(0, 0, 1, 0.9), w_pad=2)
    return figure


def draw_bounds(seen: list[Seen]) -> Any:
    figure, axis = plt.subplots(figsize=(9, 3.7))
    left = np.zeros(len(seen))
    parts = {
        "gap of the groups' averages": ([s.now.gap for s in seen], BLUE),
        "cancels over a pair's own time": ([s.now.over_time for s in seen], LIGHT),
        "cancels between pairs": ([s.now.between_people for s in seen], ORANGE),
    }
    for label, (widths, colour) in parts.items():
        axis.barh(range(len(seen)), widths, left=left, height=0.6, color=colour, label=label)
        left = left + np.array(widths)
    for row, s in enumerate(seen):
        axis.text(left[row] + 0.8, row, f"{s.now.bound:.1f}", va="center")
    axis.set_yticks(range(len(seen)), [s.name for s in seen])
    axis.invert_yaxis()
    axis.tick_params(length=0)
    axis.set_xlabel("W1 of the metric: how differently matched people fare")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.legend(frameon=False, loc="lower right", handlelength=1.2, fontsize=9)
    head(figure, "A small gap can hide a large bound", "The bound of Theorem 3, and what of it the gap shows")
    figure.tight_layout(rect=(0, 0, 1, 0.87))
    return figure


def head(figure: Any, title: str, subtitle: str) -> None:
    height = figure.get_size_inches()[1]
    figure.text(0.012, 1 - 0.3 / height, title, fontsize=13, weight="bold")
    figure.text(0.012, 1 - 0.55 / height, subtitle, color=PALE)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
