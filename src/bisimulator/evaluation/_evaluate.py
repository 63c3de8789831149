"""Simulated evaluation: all episodes of all seeds in one compiled program."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import ArrayLike

from bisimulator._html import html_table
from bisimulator.core import Env, Outcome, Params, Scenario, Values
from bisimulator.errors import check_int
from bisimulator.evaluation.intervals import mean_and_interval
from bisimulator.metrics import column, registered_metrics
from bisimulator.policies import Policy, as_policy
from bisimulator.simulation import evaluation_keys, summarise

# What is shown first where there is room for a few metrics only.
HEADLINES = ("average_return", "credit_gap", "social_burden_gap", "recall_mean", "recall_gap", "parity_gap")


@dataclasses.dataclass(frozen=True, repr=False)
class Evaluation:
    """Per-episode values of every metric, and the raw outcomes they come from."""

    env: str
    seeds: tuple[int, ...]
    episodes: Mapping[str, Float[Values, "S E"]]  # by metric
    outcome: Outcome  # leading axes (seeds, episodes)

    @property
    def summary(self) -> dict[str, tuple[float, float]]:
        """metric -> (mean, half width of the 95% confidence interval), both over seeds."""
        return {name: mean_and_interval(values) for name, values in self.episodes.items()}

    @property
    def _title(self) -> str:
        seeds, episodes = len(self.seeds), next(iter(self.episodes.values())).shape[1]
        return f"Evaluation of {self.env}: {seeds} seeds x {episodes} episodes"

    @property
    def _rows(self) -> list[tuple[str, str]]:
        intervals = {m: mean_and_interval(self.episodes[m]) for m in HEADLINES if m in self.episodes}
        return [(column(m).title, f"{mean:.4g} ± {half:.2g}") for m, (mean, half) in intervals.items()]

    @property
    def _note(self) -> str:
        return f"All {len(self.episodes)} metrics with their 95% intervals are in .summary"

    def __repr__(self) -> str:
        return "\n".join(
            [self._title, *(f"  {name}: {value}" for name, value in self._rows), f"  {self._note}"]
        )

    def _repr_html_(self) -> str:
        return html_table(self._title, (), self._rows, self._note)


def evaluate(
    env: Env,
    policy: Policy | Callable[..., ArrayLike] | ArrayLike,
    *,
    episodes: int = 5,
    seeds: int | Sequence[int] = 10,
) -> Evaluation:
    """Simulate a policy and compute every metric that applies to the environment.

    Args:
        env: an environment from `bisimulator.make`.
        policy: a policy of `bisimulator.policies`, a function of observations, or an array of acceptance
            probabilities (groups, scores), or (steps, groups, scores) if they change with time.
        episodes: episodes per seed.
        seeds: how many seeds, or which ones. A seed's episodes do not depend on the other seeds, and no training
            uses them.

    Returns:
        Per-episode values of every metric, and their means with 95% intervals over seeds (`summary`).

    Raises:
        TypeError: if `env` is not an environment, or `policy` is not a policy.
        ValueError: if a number is out of range.

    Example:
        >>> env = bisimulator.make("lending", population=50, horizon=500)
        >>> evaluation = evaluate(env, bisimulator.policies.accept_all(), seeds=4)
        >>> evaluation.summary["recall_gap"]
        (0.0, 0.0)
    """
    if not isinstance(env, Env):
        raise TypeError(f"env must come from bisimulator.make, got {env!r}; pass bisimulator.make('lending')")
    check_int("episodes", episodes, min=1)
    checked = _seeds(seeds)
    outcome = run_episodes(env, as_policy(policy), evaluation_keys(checked, episodes))
    return Evaluation(env.name, checked, metric_columns(env, outcome), outcome)


def _seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(seeds, Sequence | np.ndarray) and not isinstance(seeds, str):
        if len(seeds) == 0:
            raise ValueError("seeds is empty; pass at least one seed, such as [0], or how many, such as 10")
        return tuple(check_int("a seed", seed, min=0, max=2**32 - 1) for seed in seeds)
    return tuple(range(check_int("seeds", seeds, min=1)))


def run_episodes(env: Env, policy: Policy, keys: Key[Array, "..."]) -> Outcome:
    """The outcomes of one episode per key; leading axes as those of the keys."""
    flat = _run(env.name, env.scenario, env.params, policy, keys.reshape(-1), int(env.params.horizon))
    outcome: Outcome = jax.tree.map(lambda x: np.asarray(x).reshape(keys.shape + x.shape[1:]), flat)
    return outcome


@eqx.filter_jit
def _run(
    name: str, scenario: Scenario, params: Params, policy: Policy, keys: Key[Array, "B"], horizon: int
) -> Outcome:
    env = Env(name, scenario, params)

    def one(key: Key[Array, ""]) -> Outcome:
        decisions, state = policy.rollout(env, key, horizon)
        return summarise(decisions, state, scenario, params)

    return jax.vmap(one)(keys)


def metric_columns(env: Env, outcome: Outcome) -> dict[str, Values]:
    """The columns of every metric that applies to the environment, with the leading axes of the outcome."""
    columns: dict[str, Values] = {}
    for metric in registered_metrics():
        if metric.applies(env.scenario):
            columns |= metric.columns(outcome)
    return columns
