"""How good and how fair a policy is: all episodes of all seeds in one compiled program."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Key

from bisimulator.core import Env, Outcome, Params, Scenario, Values
from bisimulator.errors import check_int
from bisimulator.evaluation.intervals import mean_and_interval
from bisimulator.metrics import registered_metrics
from bisimulator.policies import Policy, as_policy
from bisimulator.simulation import evaluation_keys, summarise


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Per-episode values of every metric, and the raw outcomes they come from."""

    env: str
    seeds: tuple[int, ...]
    episodes: Mapping[str, Values]  # metric -> (seeds, episodes)
    outcome: Outcome  # leading axes (seeds, episodes)

    @property
    def summary(self) -> dict[str, tuple[float, float]]:
        """metric -> (mean, half width of the 95% confidence interval), both over seeds."""
        return {name: mean_and_interval(values) for name, values in self.episodes.items()}

    def __repr__(self) -> str:
        lines = [f"  {name}: {mean:.4g} +- {ci:.2g}" for name, (mean, ci) in self.summary.items()]
        seeds, episodes = len(self.seeds), next(iter(self.episodes.values())).shape[1]
        return "\n".join([f"Evaluation of {self.env}: {seeds} seeds x {episodes} episodes", *lines])


def evaluate(env: Env, policy: Any, *, episodes: int = 5, seeds: int | Sequence[int] = 10) -> Evaluation:
    """Simulate `policy` on `env`; seed s gives the same episodes whatever the other seeds are."""
    if not isinstance(env, Env):
        raise TypeError(f"env must come from bisimulator.make, got {env!r}")
    check_int("episodes", episodes, min=1)
    which = _seeds(seeds)
    outcome = run_episodes(env, as_policy(policy), evaluation_keys(which, episodes))
    return Evaluation(env.name, which, metric_columns(env, outcome), outcome)


def _seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(seeds, Sequence | np.ndarray) and not isinstance(seeds, str):
        if len(seeds) == 0:
            raise ValueError("seeds is empty; pass at least one seed, or how many there are to be")
        return tuple(check_int("a seed", seed, min=0, max=2**32 - 1) for seed in seeds)
    return tuple(range(check_int("seeds", seeds, min=1)))


def run_episodes(env: Env, policy: Policy, keys: Key[Array, "..."]) -> Outcome:
    """The outcome of one episode a key; leading axes as the keys'."""
    flat = _run(env.name, env.scenario, env.params, policy, keys.reshape(-1), int(env.params.horizon))
    return jax.tree.map(lambda x: np.asarray(x).reshape(keys.shape + x.shape[1:]), flat)


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
    """Every metric that says something in this environment, with the names of the published tables."""
    columns: dict[str, Values] = {}
    for metric in registered_metrics():
        if metric.applies(env.scenario):
            columns |= metric.columns(outcome)
    return columns
