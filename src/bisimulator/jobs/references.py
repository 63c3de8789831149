"""What the trade-off figures compare methods with: accepting everybody, and the provable optimum."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from jaxtyping import Float

from bisimulator.core import Env, Values
from bisimulator.evaluation import evaluate, exact_evaluation
from bisimulator.exact.chain import person_chain, why_no_chain, with_true_scores
from bisimulator.exact.criteria import why_too_large
from bisimulator.exact.frontier import optimum_curve
from bisimulator.goals import DEMANDS
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result
from bisimulator.policies import accept_all
from bisimulator.solvers._shards import available_cores

ACCEPT_ALL = "accept-all"
_CRITERIA = {"recall_gap": "recall-gap", "credit_gap": "credit-gap"}  # by metric
_MAX_SCORES = 12  # beyond, the frontier of final scores takes minutes


@dataclasses.dataclass(frozen=True, eq=False)
class Reference:
    """What the methods on one environment are compared with."""

    accept_all: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    """By metric, mean and half width of the 95% interval, which is 0 if exact; empty if it is one of the jobs."""
    frontiers: Mapping[str, tuple[Float[Values, "L"], Float[Values, "L"]]] = dataclasses.field(
        default_factory=dict
    )
    """By metric, levels and the highest expected return that any policy can have at each."""
    left_out: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By metric, why there is no frontier."""


def references(results: Sequence[Result]) -> dict[str, Reference]:
    """The reference of every scenario; a few seconds each, in which the optimum is computed.

    Args:
        results: finished jobs.

    Returns:
        By scenario. Jobs with different settings are about different people and have no common reference.

    Example:
        >>> results = find_runs(Path("runs"))
        >>> write_report(results, Path("runs/report"), references=references(results))
    """
    by_scenario: dict[str, list[Result]] = {}
    for result in results:
        by_scenario.setdefault(result.spec.scenario, []).append(result)
    with ThreadPoolExecutor(available_cores()) as threads:
        return dict(zip(by_scenario, threads.map(_reference, by_scenario.values()), strict=True))


def _reference(results: Sequence[Result]) -> Reference:
    spec, known = results[0].spec, results[0].columns
    metrics = [metric for metric in _CRITERIA if metric in known]
    if any(result.spec.settings != spec.settings for result in results):
        return Reference(left_out=dict.fromkeys(metrics, "the jobs have different settings"))
    env = with_true_scores(spec.make_env())
    if not env.scenario.applicants:  # nobody can be accepted
        return Reference(left_out={f"{env.scenario.main_rate}_gap": why_no_chain(env)})
    here = any(result.spec.method == ACCEPT_ALL for result in results)
    left_out = {metric: reason for metric in metrics if (reason := _why_no_frontier(env, metric))}
    frontiers = {m: optimum_curve(env, _CRITERIA[m]) for m in metrics if m not in left_out}
    return Reference({} if here else _accept_all(env, spec), frontiers, left_out)


def _accept_all(env: Env, spec: Spec) -> Mapping[str, tuple[float, float]]:
    """Exactly if that is possible, otherwise in the episodes in which the jobs were evaluated."""
    exact = exact_evaluation(env, accept_all())
    if exact is None:
        return evaluate(env, accept_all(), episodes=spec.episodes, seeds=spec.seeds).summary
    return {metric: (getattr(exact, metric), 0.0) for metric in ("average_return", *_CRITERIA)}


def _why_no_frontier(env: Env, metric: str) -> str:
    reason = why_no_chain(env)
    if reason:
        return reason
    scores = person_chain(env).num_scores
    if metric == "credit_gap" and scores > _MAX_SCORES:
        return f"it takes minutes with more than {_MAX_SCORES} scores; `bisimulator frontier` computes it"
    return why_too_large(DEMANDS[_CRITERIA[metric]], env.num_groups, scores)
