"""The people of `lending-uci-default`: what lending to them can lead to. All of it exact.

Prints the tables of docs/envs/uci_default.md:  python examples/uci_default.py
"""

import numpy as np

import bisimulator
from bisimulator.exact import chain

LEVELS = [0, 0.8, 0.9, 0.95]  # of the goal: this share of every group's repayers is accepted


def from_score(env, score: int) -> np.ndarray:
    """pi(accept | group, score): everybody from a score on."""
    return np.tile(np.arange(env.params.num_scores) >= score, (env.num_groups, 1)).astype(float)


def row(env, name: str, policy: np.ndarray) -> str:
    """A line of a Markdown table: earned, and recall and average score at the end of each group."""
    exact = chain.expect(env, policy)
    scores = exact.final_scores @ np.arange(env.params.num_scores)
    recalls = " / ".join(f"{recall:.3f}" for recall in exact.recall)
    ends = " / ".join(f"{score:.2f}" for score in scores)
    return f"| {name} | {exact.average_return:,.0f} | {recalls} | {ends} |"


def policy_rows(env) -> list[str]:
    thresholds = {
        "nobody": env.params.num_scores,
        **{f"from {k} months on" if k < 6 else "only 6 months": k for k in (6, 5, 4, 3)},
        "everybody": 0,
    }
    return [row(env, name, from_score(env, score)) for name, score in thresholds.items()]


def goal_rows(env) -> list[str]:
    """What each share of repayers costs: by any policy (proven), by group and score, and by score alone (found)."""
    best = bisimulator.frontier(env, "min-recall", levels=LEVELS, group_blind=True)
    columns = (best.value, best.stationary_value, best.group_blind_value)
    return [
        f"| {level:g} | {' | '.join(f'{value:,.0f}' for value in values)} |"
        for level, *values in zip(LEVELS, *columns, strict=True)
    ]


def main() -> None:
    env = bisimulator.make("lending-uci-default")
    print(f"groups: {' / '.join(env.group_names)}")
    print("\n".join(policy_rows(env)))
    print("\n".join(goal_rows(env)))


if __name__ == "__main__":
    main()
