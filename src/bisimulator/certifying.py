"""How fair a policy is: with proof where the world is finite, as an estimate with an interval elsewhere."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.stats import t as student

from bisimulator import policies
from bisimulator.core import Env
from bisimulator.envs import lending
from bisimulator.errors import check_int
from bisimulator.evaluation import evaluate
from bisimulator.exact.certificate import Certificate, certify_table
from bisimulator.exact.history import certify_history, most_visits

Array = NDArray[np.float64]

_ON_SCORES = (policies.Constant, policies.Thresholds, policies.Table, policies.Random)
_LARGEST_HISTORY = 200  # visits; beyond, the table of past loans does not fit


@dataclasses.dataclass(frozen=True, eq=False)
class Estimate:
    """Undiscounted return per person from simulated episodes: an estimate, not a proof."""

    env: str
    reason: str  # why there is no exact certificate
    values: Float[Array, "G"]  # means over seeds
    groups: tuple[int, int]  # the two groups with the largest estimated gap
    gap: float
    interval: tuple[float, float]  # 95%, for the largest gap over all pairs of groups (Bonferroni)
    seeds: int
    episodes: int
    exact: bool = False

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"Estimate for {self.env} from {self.seeds} seeds x {self.episodes} episodes, not a proof: "
            f"demographic-parity gap {self.gap:.4g}, 95% interval [{low:.4g}, {high:.4g}]. {self.reason}"
        )


def certify(
    env: Env, policy: Any, gamma: float = 0.99, *, episodes: int = 5, seeds: int | Sequence[int] = 10
) -> Certificate | Estimate:
    """Exact per-group values, gap and bound of a policy on lending; elsewhere an estimate by simulation.

    `policy`: anything `bisimulator.evaluate` takes. A policy that draws its actions at random is exact if it has
    `accept_probability(env, observations)`. `gamma` discounts from one visit of a person to the next;
    `episodes` and `seeds` matter to estimates only.
    """
    policy = policies.as_policy(policy)
    reason = _why_not_exact(env, policy)
    if reason:
        return _estimate(env, policy, reason, episodes, seeds)
    accept = acceptance(env, policy, 1 if isinstance(policy, _ON_SCORES) else most_visits(env))
    if (accept == accept[:, :, :1, :1]).all():
        return certify_table(env, accept[:, :, 0, 0], gamma)
    return certify_history(env, accept)


def acceptance(env: Env, policy: policies.Policy, size: int) -> Float[Array, "G C K K"]:
    """pi(accept | group, score, repaid, defaulted) on all observations that can occur, K of each count."""
    groups, scores = env.num_groups, env.params.num_scores
    shape = (groups, scores, size, size)
    group, score, repaid, defaulted = np.indices(shape).reshape(4, -1)
    columns = {
        lending.TRUE: score,
        lending.OBSERVED: score,
        lending.REPAID: repaid,
        lending.DEFAULTED: defaulted,
        lending.GROUP: group,
    }
    person = np.zeros((group.size, 6), np.float32)
    for column, values in columns.items():
        person[:, column] = values
    obs = lending.describe(jnp.asarray(person), env.params)
    return np.asarray(_probability(env, policy, obs), np.float64).reshape(shape)


def _probability(env: Env, policy: Any, obs: Float[jax.Array, "B D"]) -> Any:
    if hasattr(policy, "accept_probability"):
        return policy.accept_probability(env, obs)
    if isinstance(policy, policies.Random):
        return jnp.full(obs.shape[0], policy.probability)
    if isinstance(policy, policies.Table):
        probabilities = np.asarray(policy.probabilities, np.float64)
        score = np.rint(np.asarray(obs[:, 0]) * max(env.params.num_scores - 1, 1)).astype(int)
        return probabilities[np.asarray(obs[:, 1 : 1 + env.num_groups]).argmax(1), score]
    return policy.bind(env)(jax.random.key(0), obs)


def _why_not_exact(env: Env, policy: Any) -> str:
    """Empty if the certificate can be exact."""
    if not hasattr(env.params, "repayment"):
        return "Only lending has a finite chain per person."
    moves = np.array([float(env.params.score_up), float(env.params.score_down)])
    if not (np.asarray(env.params.omega) == moves).all():
        return (
            "The bank sees other scores than the true ones (omega), so a score no longer tells the chances."
        )
    if isinstance(policy, _ON_SCORES):
        return ""
    if isinstance(policy, policies.Clock):
        return "The policy decides by the clock, so a person's chain is not the same from visit to visit."
    if not hasattr(policy, "accept_probability") and not _is_plain_function(policy):
        return "The policy may act at random and has no accept_probability(env, observations)."
    if most_visits(env) > _LARGEST_HISTORY:
        return f"A person comes up to {most_visits(env)} times, too often to follow every history of loans."
    return ""


def _is_plain_function(policy: Any) -> bool:
    """A function of observations alone cannot draw random actions."""
    if not isinstance(policy, policies.Function):
        return False
    arguments = inspect.signature(policy.function).parameters.values()
    return sum(a.default is a.empty and a.kind is not a.VAR_KEYWORD for a in arguments) == 1


def _mean_of_known(returns: Float[Array, "G S E"]) -> Float[Array, "G s"]:
    """Means over episodes, for the seeds in which every group had people (elsewhere nothing can be compared)."""
    known = np.isfinite(returns).all(axis=0)
    seeds = np.any(known, axis=1)
    if seeds.sum() < 2:
        raise ValueError(
            f"every group had people in {seeds.sum()} seed(s) only, 2 are needed for an interval; "
            "use more seeds, or a larger population"
        )
    totals = np.where(known, returns, 0.0).sum(2)
    return totals[:, seeds] / known.sum(1)[seeds]


def _estimate(env: Env, policy: Any, reason: str, episodes: int, seeds: int | Sequence[int]) -> Estimate:
    """Student intervals over seeds for the difference of every two groups; the largest gap and all it may be."""
    which = range(check_int("seeds", seeds, least=2)) if isinstance(seeds, int) else seeds
    returns = evaluate(env, policy, episodes=episodes, seeds=which).episodes
    groups = env.num_groups
    per_seed = _mean_of_known(np.stack([returns[f"return_g{g + 1}"] for g in range(groups)]))
    values = per_seed.mean(1)
    pairs = list(combinations(range(groups), 2))
    if not pairs:
        return Estimate(env.name, reason, values, (0, 0), 0.0, (0.0, 0.0), len(which), episodes)
    differences = np.stack([per_seed[g] - per_seed[h] for g, h in pairs])
    centre, error = abs(differences.mean(1)), differences.std(1, ddof=1) / np.sqrt(per_seed.shape[1])
    half = student.ppf(1 - 0.025 / len(pairs), per_seed.shape[1] - 1) * error
    interval = (float(np.maximum(centre - half, 0).max()), float((centre + half).max()))
    worst = int(centre.argmax())
    return Estimate(
        env.name, reason, values, pairs[worst], float(centre[worst]), interval, len(which), episodes
    )
