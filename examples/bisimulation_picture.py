"""The bisimulation metric in pictures: how much two people's futures differ, for every pair of scores of two groups.

Writes bisimulation_distances.png and bisimulation_bounds.png to docs/images:

    python examples/bisimulation_picture.py [FOLDER]
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import block_diag

import bisimulator
from bisimulator import exact
from bisimulator.exact.certificate import CertificateEntry, certify_table
from bisimulator.exact.chain import person_chain
from bisimulator.exact.visits import visit_matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = Path(__file__).parents[1] / "docs" / "images"
GAMMA = 0.99  # from one visit of a person to the next
INK, PALE = "#333333", "#777777"
BLUE, LIGHT, ORANGE = "#1b6ca8", "#a9cbe3", "#e07a1f"
# the score from which each group is accepted; 0 accepts everybody
POLICIES = {
    "Group 1 everybody, group 2 from score 3": (0, 3),
    "Both from score 3": (3, 3),
    "Group 1 from score 3, group 2 everybody": (3, 0),
    "Everybody": (0, 0),
}
DRAWN = ("Group 1 everybody, group 2 from score 3", "Both from score 3", "Everybody")


@dataclasses.dataclass(frozen=True)
class PolicyMetrics:
    """The metric and the certificate of a policy."""

    name: str
    distance: np.ndarray  # (scores of group 1, scores of group 2)
    discounted: CertificateEntry  # the bank's reward, discounted per visit
    episode: CertificateEntry  # the bank's reward over an episode
    loans: CertificateEntry  # loans over an episode


def compute(env: bisimulator.Env, name: str, thresholds: tuple[int, int]) -> PolicyMetrics:
    """The metric from its definition, and the certificate, which is computed from it."""
    p = env.params
    accept = (np.arange(p.num_scores) >= np.array(thresholds)[:, None]).astype(float)
    repayment = np.asarray(p.qualified_probs, float)
    gain, loss = map(float, p.accept_rewards)
    reward = accept * (repayment * gain + (1 - repayment) * loss)
    groups = np.repeat([1, 2], p.num_scores)
    metric = exact.bisimulation_metric(
        block_diag(*visit_matrix(accept, person_chain(env))[0]), reward.ravel(), GAMMA, groups=groups
    )
    certificate = certify_table(env, accept, gamma=GAMMA)
    episode, loans = (certificate.entry(signal, "episode") for signal in ("reward", "loans"))
    return PolicyMetrics(name, metric.distance, certificate.entry(), episode, loans)


def compute_all() -> list[PolicyMetrics]:
    env = bisimulator.make("lending")
    return [compute(env, name, thresholds) for name, thresholds in POLICIES.items()]


def markdown_rows(policies: list[PolicyMetrics]) -> list[str]:
    """The table of docs/concepts.md."""
    rows = []
    for s in policies:
        values = " / ".join(f"{value:.1f}" for value in s.discounted.values)
        gaps = (s.discounted.gap, s.discounted.bound, s.episode.gap, s.loans.gap)
        rows.append(f"| {s.name.lower()} | {values} | {' | '.join(f'{gap:.1f}' for gap in gaps)} |")
    return rows


def main(folder: Path) -> None:
    policies = compute_all()
    print("\n".join(markdown_rows(policies)))
    draw(policies, folder)


def draw(policies: list[PolicyMetrics], folder: Path) -> None:
    plt.rcParams.update({"font.size": 10, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": PALE})
    plt.rcParams.update({"xtick.color": INK, "ytick.color": INK})
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in (("distances", draw_distances(policies)), ("bounds", draw_bounds(policies))):
        path = folder / f"bisimulation_{name}.png"
        figure.savefig(path, dpi=160)
        plt.close(figure)
        print(f"wrote {path}")


def draw_distances(policies: list[PolicyMetrics]) -> Figure:
    drawn = [s for s in policies if s.name in DRAWN]
    top = max(s.distance.max() for s in drawn)
    figure, axes = plt.subplots(1, len(drawn), figsize=(11, 4.9), sharey=True)
    for axis, s in zip(axes, drawn, strict=True):
        axis.imshow(s.distance, cmap="Blues", vmin=0, vmax=1.25 * top, origin="lower")
        for (i, j), d in np.ndenumerate(s.distance):
            colour = "white" if d > 0.7 * top else INK
            axis.text(j, i, f"{max(d, 0):.0f}", ha="center", va="center", fontsize=8.5, color=colour)
        assert s.discounted.pairing is not None
        i, j = np.nonzero(s.discounted.pairing > 1e-6)
        axis.scatter(
            j, i, s=2200 * s.discounted.pairing[i, j], facecolors="none", edgecolors=ORANGE, linewidths=2
        )
        axis.set_title(
            f"{s.name}\nbound {s.discounted.bound:.1f}, gap {s.discounted.gap:.1f}", loc="left", fontsize=10
        )
        axis.set_xlabel("score of the person of group 2")
        axis.set_xticks(range(s.distance.shape[1]))
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    axes[0].set_ylabel("score of the person of group 1")
    axes[0].set_yticks(range(policies[0].distance.shape[0]))
    add_title(
        figure,
        "Equal treatment gives zeros on the diagonal; equal futures need more",
        "Distance between two people's futures, in reward. Circles show who is paired with whom at the start; "
        "their area is the share of such pairs",
    )
    figure.tight_layout(rect=(0, 0, 1, 0.9), w_pad=2)
    return figure


def draw_bounds(policies: list[PolicyMetrics]) -> Figure:
    figure, axis = plt.subplots(figsize=(9, 3.7))
    left = np.zeros(len(policies))
    segments = {
        "gap of the groups' averages": ([s.discounted.gap for s in policies], BLUE),
        "cancels over time within a pair": ([s.discounted.over_time for s in policies], LIGHT),
        "cancels between pairs": ([s.discounted.between_people for s in policies], ORANGE),
    }
    for label, (lengths, colour) in segments.items():
        axis.barh(range(len(policies)), lengths, left=left, height=0.6, color=colour, label=label)
        left = left + np.array(lengths)
    for row, s in enumerate(policies):
        axis.text(left[row] + 0.8, row, f"{s.discounted.bound:.1f}", va="center")
    axis.set_yticks(range(len(policies)), [s.name for s in policies])
    axis.invert_yaxis()
    axis.tick_params(length=0)
    axis.set_xlabel("W1 of the metric: how much the futures of paired people differ")
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.legend(frameon=False, loc="lower right", handlelength=1.2, fontsize=9)
    add_title(
        figure,
        "A small gap can hide a large bound",
        "The bound of Theorem 3, and how much of it the gap shows",
    )
    figure.tight_layout(rect=(0, 0, 1, 0.87))
    return figure


def add_title(figure: Figure, title: str, subtitle: str) -> None:
    height = figure.get_size_inches()[1]
    figure.text(0.012, 1 - 0.3 / height, title, fontsize=13, weight="bold")
    figure.text(0.012, 1 - 0.55 / height, subtitle, color=PALE)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
