"""Liu et al. (2018) on the people of 2003: what one round of loans does to the scores of each group. All of it exact.

Three banks choose one acceptance rule per group: MaxUtil earns the most, DemPar the most among those that accept the
same share of each group, and EqOpt the most among those that accept the same share of each group's repayers. A repaid
loan raises the score by 75 points, a default lowers it by 150, within 300 to 850.

Draws docs/images/delayed_impact.svg and prints the table of docs/envs/us_credit.md:
python examples/delayed_impact.py [PATH]
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import bisimulator
from bisimulator.envs.us_credit import DOWN, MAX_SCORE, MIN_SCORE, UP

DEFAULT = Path(__file__).parents[1] / "docs" / "images" / "delayed_impact.svg"
GROUPS, RATIOS = ["white", "black"], (4, 10)
COLOURS, MARKERS = ("#0072B2", "#D55E00"), {"MaxUtil": "o", "DemPar": "s", "EqOpt": "^"}
LEVELS = np.linspace(0, 1, 2001)  # of selection rates, and of recalls


class Curves:
    """Cumulated from the highest score down, per person of a group: (groups, scores + 1)."""

    def __init__(self, env, ratio: float) -> None:
        shares, repay = np.asarray(env.params.initial, float), np.asarray(env.params.repayment, float)
        edges = np.array(env.params.score_edges)
        score = (edges[1:] + edges[:-1]) / 2
        up, down = (np.clip(score + move, MIN_SCORE, MAX_SCORE) - score for move in (UP, -DOWN))
        self.sizes = np.asarray(env.params.group_probs, float)
        self.accepted = cumulated(shares)
        self.repaid = cumulated(shares * repay)
        self.profit = cumulated(shares * (repay - ratio * (1 - repay)))
        self.change = cumulated(shares * (repay * up + (1 - repay) * down))

    def at(self, values: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """A curve where each group's selection rate is the given one; a bin of scores is accepted in part."""
        return np.array(
            [np.interp(rate, *pair) for rate, *pair in zip(rates, self.accepted, values, strict=True)]
        )

    def rates(self, rule: str) -> np.ndarray:
        """Each group's selection rate under a rule."""
        if rule == "MaxUtil":
            return self.accepted[np.arange(len(self.sizes)), self.profit.argmax(1)]
        if rule == "DemPar":
            options = np.stack([LEVELS] * len(self.sizes))
        else:
            recalls = self.repaid / self.repaid[:, -1:]
            options = np.array(
                [np.interp(LEVELS, *pair) for pair in zip(recalls, self.accepted, strict=True)]
            )
        return options[:, (self.sizes @ self.at(self.profit, options)).argmax()]


def cumulated(values: np.ndarray) -> np.ndarray:
    from_the_top = values[:, ::-1].cumsum(1)
    return np.concatenate([np.zeros((len(values), 1)), from_the_top], axis=1)


def rows(env) -> list[str]:
    """Lines of a Markdown table: selection rate, recall and mean change of scores of each group."""
    lines = []
    for ratio in RATIOS:
        curves = Curves(env, ratio)
        for rule in MARKERS:
            rates = curves.rates(rule)
            recalls = curves.at(curves.repaid, rates) / curves.repaid[:, -1]
            change = curves.at(curves.change, rates)
            cells = [
                " / ".join(f"{x:.2f}" for x in rates),
                " / ".join(f"{x:.2f}" for x in recalls),
                " / ".join(f"{x:+.1f}" for x in change),
            ]
            lines.append(f"| {ratio} | {rule} | {' | '.join(cells)} |")
    return lines


def draw(axis, env, ratio: float) -> None:
    """The outcome curve of each group, with the three rules on it."""
    curves = Curves(env, ratio)
    for g, name in enumerate(GROUPS):
        axis.plot(curves.accepted[g], curves.change[g], color=COLOURS[g], label=name)
    for rule, marker in MARKERS.items():
        rates = curves.rates(rule)
        axis.scatter(rates, curves.at(curves.change, rates), marker=marker, color=COLOURS, zorder=3)
        axis.scatter([], [], marker=marker, color="#333333", label=rule)
    axis.axhline(0, color="#8a8a8a", linewidth=0.8)
    axis.set_title(f"A default costs {ratio} repaid loans", loc="left")
    axis.set_xlabel("share of the group that is accepted")
    axis.spines[["top", "right"]].set_visible(False)


def main(path: Path) -> None:
    env = bisimulator.make("lending-us-2003", groups=GROUPS)
    figure, axes = plt.subplots(1, len(RATIOS), figsize=(9, 3.6), layout="constrained", sharey=True)
    for axis, ratio in zip(axes, RATIOS, strict=True):
        draw(axis, env, ratio)
    axes[0].set_ylabel("mean change of scores, in points")
    axes[0].legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context({"svg.hashsalt": "bisimulator", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    print("\n".join(rows(env)))
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
