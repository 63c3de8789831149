"""The exact values of a finished job, where they exist."""

from __future__ import annotations

from bisimulator.evaluation import exact_evaluation
from bisimulator.exact.chain import Expectation
from bisimulator.jobs.store import Result, seed_policies


def exact_expectations(result: Result) -> list[Expectation] | None:
    """What each seed's policy brings in exact expectation; None if one of them has no exact values.

    Trained policies have none if people influence each other, or if they see other scores than the true ones.
    """
    found: list[Expectation] = []
    for env, policy in seed_policies(result):
        exact = exact_evaluation(env, policy)
        if exact is None:
            return None
        found.append(exact)
    return found or None
