"""Approvals without repayment: what 1,987 mortgage applications say about fairness, and what they cannot say.

Nobody recorded who repaid, so recall is unknown. If equal scores mean equal repayment, and repayment rises with the
score, each group's recall still lies in a range that can be computed exactly. Prints the tables of docs/approvals.md:

python examples/approvals.py
"""

import csv
from importlib import resources

import numpy as np

GROUPS, SCORES = ("white", "black", "hispanic"), (2, 3, 4, 5)


def read_counts() -> tuple[np.ndarray, np.ndarray]:
    """Applications and approvals, each (groups, scores)."""
    text = resources.files("bisimulator").joinpath("data/boston_mortgages.csv").read_text(encoding="utf-8")
    cells = {(row["group"], int(row["score"])): row for row in csv.DictReader(text.splitlines())}
    counts = [[[int(cells[g, c][name]) for c in SCORES] for g in GROUPS] for name in ("people", "approved")]
    return np.array(counts[0]), np.array(counts[1])


def recall_range(people: np.ndarray, approved: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest recall of each group over all repayment rates that rise with the score.

    Such rates are mixtures of steps "everybody from score k on repays". Recall is a ratio of two sums over the steps,
    so it lies between the lowest and the highest recall of a single step, and both are attained.
    """
    from_score = [np.flip(np.flip(counts, 1).cumsum(1), 1) for counts in (approved, people)]
    recalls = from_score[0] / from_score[1]
    return recalls.min(1), recalls.max(1)


def rows() -> list[str]:
    """Lines of a Markdown table: approval rates by score, of all, at the white group's scores, and range of recall."""
    people, approved = read_counts()
    rates = approved / people
    mix = people[0] / people[0].sum()
    low, high = recall_range(people, approved)
    lines = []
    for g, name in enumerate(GROUPS):
        by_score = " | ".join(f"{rate:.2f}" for rate in rates[g])
        overall, adjusted = approved[g].sum() / people[g].sum(), mix @ rates[g]
        lines.append(
            f"| {name} | {people[g].sum():,} | {by_score} | {overall:.2f} | {adjusted:.2f} | "
            f"{low[g]:.2f} to {high[g]:.2f} |"
        )
    return lines


if __name__ == "__main__":
    print("\n".join(rows()))
