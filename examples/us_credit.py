"""The people of `lending-us-2003`: who they are, how they repay, and what lending to them can lead to. All of it exact.

Draws docs/images/us_credit.png and prints the table of docs/envs/us_credit.md:  python examples/us_credit.py [PATH]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import bisimulator
from bisimulator.exact import chain

DEFAULT = Path(__file__).parents[1] / "docs" / "images" / "us_credit.png"
COLOURS = ("#0072B2", "#D55E00", "#007D5B", "#C4629A")
DASHES = ("-", (0, (5, 2)), (0, (1.2, 1.6)), (0, (6, 2, 1.2, 2)))
INK, PALE = "#333333", "#8a8a8a"
AT_ONCE, IN_THE_LONG_RUN = 625, 550  # the single thresholds that pay best


def middles(env) -> np.ndarray:
    edges = np.array(env.params.score_edges)
    return (edges[1:] + edges[:-1]) / 2


def from_score(env, score: float) -> np.ndarray:
    """pi(accept | group, score): everybody from a score on."""
    return np.tile(np.array(env.params.score_edges[:-1]) >= score, (env.num_groups, 1)).astype(float)


def policies(env) -> dict[str, np.ndarray]:
    fair = bisimulator.frontier(env, "min-recall", levels=[0.95])
    return {
        "nobody": from_score(env, 900),
        f"from {AT_ONCE} on, where a single loan pays": from_score(env, AT_ONCE),
        f"from {IN_THE_LONG_RUN} on, the best single threshold": from_score(env, IN_THE_LONG_RUN),
        "95% of every group's repayers, by score and group": fair.policy(0, stationary=True),
        "everybody": from_score(env, 300),
    }


def rows(env) -> list[str]:
    """Lines of a Markdown table: earned, recall and average score at the end of each group."""
    lines = []
    for name, table in policies(env).items():
        exact = chain.expect(env, table)
        scores = exact.final_scores @ middles(env)
        recalls = " / ".join(f"{recall:.2f}" for recall in exact.recall)
        ends = " / ".join(f"{score:.0f}" for score in scores)
        lines.append(f"| {name} | {exact.average_return:,.0f} | {recalls} | {ends} | {np.ptp(scores):.0f} |")
    return lines


def main(path: Path) -> None:
    env = bisimulator.make("lending-us-2003")
    plt.rcParams.update({"font.size": 9, "text.color": INK, "axes.labelcolor": INK})
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    draw_people(axes[0], env, env.params.initial, "People at each score, % of the group")
    draw_people(axes[1], env, env.params.repayment, "Repay at each score, %")
    axes[1].legend(frameon=False, loc="upper left")
    draw_frontier(axes[2], env)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="#E4E4E4", linewidth=0.6)
        axis.set_axisbelow(True)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)
    print("\n".join(rows(env)))
    print(f"wrote {path}")


def draw_people(axis, env, values, title) -> None:
    for g, name in enumerate(env.group_names):
        axis.plot(
            middles(env), 100 * np.asarray(values)[g], color=COLOURS[g], linestyle=DASHES[g], label=name
        )
    axis.set_title(title, loc="left")
    axis.set_xlabel("score")
    axis.set_ylim(0)


def draw_frontier(axis, env) -> None:
    best = bisimulator.frontier(env, "min-recall")
    axis.plot(
        np.append(0.4, best.levels),
        np.append(best.value[0], best.value),
        color=INK,
        label="any policy (proven)",
    )
    notes = {AT_ONCE: "pays best at once", IN_THE_LONG_RUN: "pays best in the long run"}
    for score in range(500, 651, 25):
        exact = chain.expect(env, from_score(env, score))
        place = (exact.recall.min(), exact.average_return)
        axis.plot(*place, "o", color=COLOURS[1] if score in notes else PALE, markersize=5)
        left = score in (IN_THE_LONG_RUN, 525, 500)  # the frontier is on the right of them
        text, offset = f"{score} {notes.get(score, '')}".strip(), (-7, -12) if left else (5, -10)
        near = {"textcoords": "offset points", "fontsize": 7.5, "ha": "right" if left else "left"}
        axis.annotate(text, place, offset, **near)
    axis.set_title("Earned; points: one threshold for all", loc="left")
    axis.set_xlabel("recall of the group that fares worst")
    axis.set_xlim(0.38, 1.01)
    axis.set_ylim(4300, 6000)
    axis.legend(frameon=False, loc="lower left", fontsize=8)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
