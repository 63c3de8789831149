"""Policies of score and group as a table that people and other programs can read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from numpy.typing import ArrayLike

from bisimulator import files
from bisimulator.core import Env
from bisimulator.errors import check_path
from bisimulator.evaluation._exact_evaluation import acceptance_table
from bisimulator.policies import Policy, as_policy

COLUMNS = ("group", "score_from", "score_below", "accept")


def decision_table(
    env: Env, policy: Policy | Callable[..., ArrayLike] | ArrayLike, path: str | Path | None = None
) -> list[dict[str, object]]:
    """`pi(accept | group, score)`: one row per group and score, or bin of scores.

    Args:
        env: the environment as the policy sees it, such as `result.env(seed)`.
        policy: anything that `bisimulator.evaluate` takes, if it decides by score and group alone.
        path: a CSV file to write it to.

    Returns:
        Rows with the group's name, the scores of the bin and the probability with which it accepts.

    Raises:
        ValueError: if the policy looks at more than score and group, or its probabilities are not known.

    Example:
        >>> env = bisimulator.make("lending", groups=1)
        >>> decision_table(env, bisimulator.policies.thresholds([3]), "policy.csv")[3]
        {'group': '1', 'score_from': 3.0, 'score_below': 4.0, 'accept': 1.0}
    """
    accept, reason = acceptance_table(env, as_policy(policy))
    if accept is None or accept.ndim != 2:
        raise ValueError(
            "a decision table has one row per group and score, and this policy decides by more. "
            f"{reason or 'It looks at past loans.'} Write a network with to_onnx instead"
        )
    edges = env.params.score_edges or tuple(range(env.params.num_scores + 1))
    rows = [
        (name, float(edges[c]), float(edges[c + 1]), float(accept[g, c]))
        for g, name in enumerate(env.group_names)
        for c in range(accept.shape[1])
    ]
    if path is not None:
        files.write_csv(check_path("path", path), COLUMNS, rows)
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows]
