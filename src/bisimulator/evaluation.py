"""How good and how fair a policy is: all episodes of all seeds in one compiled program."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from numpy.typing import NDArray
from scipy.special import stdtrit

from bisimulator import registry
from bisimulator.adaptive import Adaptive, episode_with_fits
from bisimulator.core import Decisions, Env, Metric, Outcome, Scenario, State
from bisimulator.errors import check_int
from bisimulator.policies import Clock, Policy, as_policy, with_clock
from bisimulator.simulate import episode, episode_by_steps, summarise

Values = NDArray[np.float64]


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
    check_int("episodes", episodes, least=1)
    which = _seeds(seeds)
    keys = jnp.stack([jax.random.split(jax.random.key(seed), episodes) for seed in which])
    outcome = run_episodes(env, as_policy(policy), keys)
    return Evaluation(env.name, which, metric_columns(env, outcome), outcome)


def _seeds(seeds: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(seeds, Sequence | np.ndarray) and not isinstance(seeds, str):
        if len(seeds) == 0:
            raise ValueError("seeds is empty; pass at least one seed, or how many there are to be")
        return tuple(check_int("a seed", seed, least=0, most=2**32 - 1) for seed in seeds)
    return tuple(range(check_int("seeds", seeds, least=1)))


def run_episodes(env: Env, policy: Policy, keys: Key[Array, "..."]) -> Outcome:
    """The outcome of one episode a key; leading axes as the keys'."""
    if isinstance(policy, Clock):
        policy.check(env)
    flat = _run(env.name, env.scenario, env.params, policy, keys.reshape(-1), int(env.params.horizon))
    return jax.tree.map(lambda x: np.asarray(x).reshape(keys.shape + x.shape[1:]), flat)


@eqx.filter_jit
def _run(
    name: str, scenario: Scenario, params: Any, policy: Policy, keys: Key[Array, "B"], horizon: int
) -> Outcome:

    def run(key: Key[Array, ""]) -> tuple[Decisions, State]:
        if isinstance(policy, Adaptive):
            return episode_with_fits(scenario, key, policy, params, horizon)
        act = policy.bind(Env(name, scenario, params))
        if isinstance(policy, Clock):  # side by side there is no clock, so who needs one goes step by step
            return episode_by_steps(with_clock(scenario), key, act, params, horizon)
        return episode(scenario, key, act, params, horizon)

    def one(key: Key[Array, ""]) -> Outcome:
        decisions, state = run(key)
        return summarise(decisions, state, scenario, params)

    return jax.vmap(one)(keys)


def metric_columns(env: Env, outcome: Outcome) -> dict[str, Values]:
    """Every metric that says something in this environment, with the names of the published tables."""
    columns: dict[str, Values] = {}
    for name in registry.METRICS:
        metric: Metric = registry.lookup("metric", name)
        if metric.applies(env.scenario):
            columns |= metric.columns(outcome)
    return columns


def seed_means(values: Values) -> Values:
    """The mean over each seed's episodes, without the undefined ones (NaN); NaN where all of them are."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(known, values, 0.0).sum(1) / known.sum(1)


def mean_and_interval(values: Values) -> tuple[float, float]:
    """Mean and Student 95% half width over seeds (first axis), each seed being the mean of its episodes.

    An undefined episode (NaN) is left out; with one seed there is no interval (NaN).
    """
    per_seed = seed_means(values)
    per_seed = per_seed[~np.isnan(per_seed)]
    if per_seed.size == 0:
        return float("nan"), float("nan")
    if per_seed.size == 1:
        return float(per_seed[0]), float("nan")
    half = stdtrit(per_seed.size - 1, 0.975) * per_seed.std(ddof=1) / np.sqrt(per_seed.size)
    return float(per_seed.mean()), float(half)
