"""How fair a policy is: with proof where people are finite Markov chains, as an estimate with an interval elsewhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.stats import t as student

from bisimulator._html import html_table
from bisimulator.core import Env, Values, require_env
from bisimulator.errors import MAX_EPISODES, check_int, check_seeds
from bisimulator.evaluation._evaluate import Evaluation, evaluate
from bisimulator.evaluation._exact_evaluation import acceptance_table
from bisimulator.exact._finite import check_discount
from bisimulator.exact._history import certify_history
from bisimulator.exact.certificate import Certificate, certify_table
from bisimulator.policies import Policy, as_policy

_MAX_GROUPS = 1_000  # time and memory grow with the square


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Estimate:
    """Undiscounted return per person from simulated episodes: an estimate, not a proof."""

    env: str
    reason: str  # why there is no exact certificate
    values: Float[Values, "G"]  # means over seeds
    groups: tuple[int, int]  # the two groups with the largest estimated gap
    gap: float
    interval: tuple[float, float]  # 95%, for the largest gap over all pairs of groups (Bonferroni)
    seeds: int
    episodes: int
    group_names: tuple[str, ...] = ()  # empty: numbers
    exact: bool = False

    @property
    def _title(self) -> str:
        return f"Estimate for {self.env} from {self.seeds} seeds x {self.episodes} episodes, not a proof"

    def __repr__(self) -> str:
        low, high = self.interval
        gap = f"demographic-parity gap {self.gap:.4g}, 95% interval [{low:.4g}, {high:.4g}]"
        return f"{self._title}: {gap}. {self.reason}"

    def _repr_html_(self) -> str:
        names = self.group_names or [str(g + 1) for g in range(len(self.values))]
        rows = [
            (f"return per person of group {n}", f"{v:.4g}") for n, v in zip(names, self.values, strict=True)
        ]
        low, high = self.interval
        rows.append(("demographic-parity gap", f"{self.gap:.4g}, 95% interval {low:.4g} to {high:.4g}"))
        return html_table(self._title, (), rows, self.reason)


def certify(
    env: Env,
    policy: Policy | Callable[..., ArrayLike] | ArrayLike,
    gamma: float = 0.99,
    *,
    episodes: int = 5,
    seeds: int | Sequence[int] = 10,
) -> Certificate | Estimate:
    """How fair a policy is: exact values per group, their gap and a bound on it; or a simulated estimate.

    The result is exact where every person is a finite Markov chain (lending, us-credit) and the policy's acceptance
    probabilities are known: functions of observations always, policies that draw actions at random if they implement
    `accept_probability`.

    Args:
        env: an environment from `bisimulator.make`.
        policy: anything that `bisimulator.evaluate` takes.
        gamma: discount factor from one visit of a person to the next, in [0, 1).
        episodes: episodes per seed; for estimates only.
        seeds: how many seeds, at least 2, or which ones; for estimates only.

    Returns:
        A `Certificate`, or an `Estimate` whose `reason` says why there is no certificate. Both have `exact`,
        `values` and `gap`.

    Raises:
        ValueError: if gamma is not in [0, 1), there are too few seeds for an interval, or too many groups.

    Example:
        >>> certificate = certify(bisimulator.make("lending"), bisimulator.policies.accept_all())
        >>> round(certificate.gap, 2), round(certificate.bound, 2)
        (13.52, 13.52)
        >>> certificate.entry("loans", "episode").values.round(3)
        array([10., 10.])
    """
    require_env(env)
    if env.num_groups > _MAX_GROUPS:
        raise ValueError(
            f"a certificate compares all pairs of at most {_MAX_GROUPS:,} groups, got {env.num_groups:,}; merge groups"
        )
    check_discount(gamma)
    check_int("episodes", episodes, min=1, max=MAX_EPISODES)
    check_seeds(seeds)
    checked = as_policy(policy)
    accept, reason = acceptance_table(env, checked)
    if accept is None:
        which = check_seeds(seeds, min=2)
        return estimate_of(env, evaluate(env, checked, episodes=episodes, seeds=which), reason)
    return certify_table(env, accept, gamma) if accept.ndim == 2 else certify_history(env, accept)


def _seed_means(returns: Float[Values, "G S E"]) -> Float[Values, "G s"]:
    """Means over the episodes in which every group had people, for the seeds that have such episodes."""
    known = np.isfinite(returns).all(axis=0)
    seeds = np.any(known, axis=1)
    if seeds.sum() < 2:
        raise ValueError(
            f"every group had people in {seeds.sum()} seed(s) only, an interval needs 2; "
            "use more seeds, or a larger population"
        )
    totals = np.where(known, returns, 0.0).sum(2)
    means: Values = totals[:, seeds] / known.sum(1)[seeds]
    return means


def estimate_of(env: Env, evaluation: Evaluation, reason: str) -> Estimate:
    """The largest gap between two groups, with an interval from Student intervals for every pair over seeds."""
    returns, groups = evaluation.episodes, env.num_groups
    per_seed = _seed_means(np.stack([returns[f"return_g{g + 1}"] for g in range(groups)]))
    values, (seeds, episodes) = per_seed.mean(1), returns["return_g1"].shape
    pairs = list(combinations(range(groups), 2))
    if not pairs:
        return Estimate(env.name, reason, values, (0, 0), 0.0, (0.0, 0.0), seeds, episodes, env.group_names)
    differences = np.stack([per_seed[g] - per_seed[h] for g, h in pairs])
    centre, error = abs(differences.mean(1)), differences.std(1, ddof=1) / np.sqrt(per_seed.shape[1])
    half = student.ppf(1 - 0.025 / len(pairs), per_seed.shape[1] - 1) * error
    interval = (float(np.maximum(centre - half, 0).max()), float((centre + half).max()))
    worst = int(centre.argmax())
    return Estimate(
        env=env.name,
        reason=reason,
        values=values,
        groups=pairs[worst],
        gap=float(centre[worst]),
        interval=interval,
        seeds=seeds,
        episodes=episodes,
        group_names=env.group_names,
    )
