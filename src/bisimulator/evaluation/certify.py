"""How fair a policy is: with proof where the world is finite, as an estimate with an interval elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.stats import t as student

from bisimulator import policies
from bisimulator.core import Env
from bisimulator.errors import check_int
from bisimulator.evaluation._evaluate import evaluate
from bisimulator.exact._history import certify_history, most_visits
from bisimulator.exact.certificate import Certificate, certify_table
from bisimulator.exact.chain import why_no_chain
from bisimulator.policies import Policy

Array = NDArray[np.float64]

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
    accept = acceptance(env, policy, 1 if policy.depends_on == "score" else most_visits(env))
    assert accept is not None
    if (accept == accept[:, :, :1, :1]).all():
        return certify_table(env, accept[:, :, 0, 0], gamma)
    return certify_history(env, accept)


def acceptance(env: Env, policy: Policy, size: int) -> Float[Array, "G C k k"] | None:
    """`pi(accept | group, score, repaid, defaulted)` for fewer than `size` loans of each; None if it is not known."""
    model = env.scenario.person_model
    if model is None:
        return None
    obs = model.observations(env.params, size)
    found = policy.accept_probability(env, obs.reshape(-1, obs.shape[-1]))
    return None if found is None else np.asarray(found, np.float64).reshape(obs.shape[:-1])


_NOT_MARKOV = {
    "time": "The policy depends on the time, so a person's chain is not the same from visit to visit.",
    "episode": "The policy is refitted while the episode goes on, so a person's chain depends on everybody else's.",
}


def _why_not_exact(env: Env, policy: Policy) -> str:
    """Empty if the certificate can be exact."""
    reason = why_no_chain(env)
    if reason:
        return f"{reason[0].upper()}{reason[1:]}."
    if policy.depends_on in _NOT_MARKOV:
        return _NOT_MARKOV[policy.depends_on]
    if acceptance(env, policy, 1) is None:
        return "The policy may act at random and has no accept_probability(env, observations)."
    if policy.depends_on != "score" and most_visits(env) > _LARGEST_HISTORY:
        return f"A person comes up to {most_visits(env)} times, too often to follow every history of loans."
    return ""


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
    which = range(check_int("seeds", seeds, min=2)) if isinstance(seeds, int) else seeds
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
