"""Who has which credit score after an episode: everybody accepted, or only those on whom a loan pays. Exact values.

Draws docs/images/first_look.png:  python examples/first_look.py [PATH]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import bisimulator
from bisimulator.evaluation import exact_evaluation
from bisimulator.exact.chain import Expectation
from bisimulator.metrics.credit_gap import gaps

DEFAULT = Path(__file__).parents[1] / "docs" / "images" / "first_look.png"
COLOURS = ("#1b6ca8", "#e07a1f")  # group 1, group 2; apart also for the colour-blind
INK, PALE = "#333333", "#8a8a8a"


def main(path: Path) -> None:
    env = bisimulator.make("lending")
    policies = {
        "Accept where a loan pays: score 3 and up": bisimulator.policies.thresholds((3, 3)),
        "Accept everybody": bisimulator.policies.accept_all(),
    }
    initial = np.asarray(env.params.initial)
    panels = {"At the start": (initial, [gap_line(gaps("gap", initial, 1)["gap"])])}
    for name, policy in policies.items():
        exact = exact_evaluation(env, policy)
        panels[name] = (exact.final_scores, result_lines(exact))

    plt.rcParams.update({"font.size": 10, "text.color": INK, "axes.labelcolor": INK, "xtick.color": INK})
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.7), sharey=True)
    for axis, (title, (shares, lines)) in zip(axes, panels.items(), strict=True):
        draw(axis, title, shares, lines)
    axes[0].legend(frameon=False, loc="upper left", bbox_to_anchor=(0.0, 0.88), handlelength=1.2)
    figure.suptitle(
        "One threshold for all drives the groups further apart",
        x=0.012,
        ha="left",
        fontsize=13,
        weight="bold",
    )
    decisions = f"{int(env.params.horizon):,} decisions"
    figure.text(
        0.012, 0.875, f"Share of each group by credit score, at the start and after {decisions}", color=PALE
    )
    figure.tight_layout(rect=(0, 0, 1, 0.91), w_pad=2)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
    print(f"wrote {path}")


def gap_line(gap: float) -> str:
    return f"credit gap {gap:.2f} points"


def result_lines(exact: Expectation) -> list[str]:
    return [
        gap_line(exact.credit_gap),
        "recall " + " and ".join(f"{recall:.2f}" for recall in exact.recall),
        f"return {exact.average_return:,.0f}",
    ]


def draw(axis, title, shares, lines) -> None:
    scores = np.arange(shares.shape[1])
    for g, (share, colour) in enumerate(zip(shares, COLOURS, strict=True)):
        axis.bar(scores + 0.4 * (g - 0.5), share, width=0.38, color=colour, label=f"group {g + 1}")
    axis.set_title(title, loc="left", fontsize=10.5, color=INK)
    axis.set_xticks(scores)
    axis.set_xlabel("credit score")
    axis.tick_params(length=0)
    axis.yaxis.set_visible(False)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.text(0.02, 0.98, "\n".join(lines), transform=axis.transAxes, va="top", linespacing=1.5)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
