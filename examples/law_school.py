"""The people of `college-law-school`: thresholds for all, and for each group. Simulated, with 95% intervals.

Prints the table of docs/envs/law_school.md:  python examples/law_school.py
"""

import bisimulator

THRESHOLDS = ((400, 400), (600, 600), (650, 650), (700, 700), (750, 750), (700, 650))  # white, non-white


def row(env, scores: tuple[int, ...], **size: int) -> str:
    """A line of a Markdown table: return, and recall, precision and social burden of each group."""
    levels = [env.params.score_edges.index(score) for score in scores]
    found = bisimulator.evaluate(env, bisimulator.policies.thresholds(levels), **size).summary
    cells = ["{:,.0f} ± {:.0f}".format(*found["average_return"])]
    for metric in ("recall", "precision", "social_burden"):
        values = [found[f"{metric}_g{g + 1}"] for g in range(env.num_groups)]
        cells.append(" / ".join(f"{mean:.2f} ± {half:.2f}" for mean, half in values))
    return f"| {' / '.join(map(str, scores))} | {' | '.join(cells)} |"


def main() -> None:
    env = bisimulator.make("college-law-school")
    print(f"groups: {' / '.join(env.group_names)}")
    for scores in THRESHOLDS:
        print(row(env, scores), flush=True)


if __name__ == "__main__":
    main()
