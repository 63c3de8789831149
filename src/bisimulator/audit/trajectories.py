"""How each group fares as time goes by, from simulated episodes."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import NDArray

from bisimulator.core import Env, Outcome, Scenario
from bisimulator.errors import check_int
from bisimulator.evaluation import Evaluation, metric_columns
from bisimulator.policies import Policy, as_policy
from bisimulator.simulation import evaluation_keys, summarise

Values = NDArray[np.float64]

WINDOWS = 25
APPLIED, APPROVED, QUALIFIED, APPROVED_QUALIFIED, MOVED = range(5)


@dataclasses.dataclass(frozen=True)
class Course:
    """Sums over all episodes. Shapes: W windows of time, G groups."""

    time: Float[Values, "W"]  # applications of an average person until the window's end
    counts: Float[Values, "W G 5"]
    people: Float[Values, "G"]
    score: Float[Values, "W+1 G"]  # average observed score at the start and after each window

    @property
    def approval_rate(self) -> Float[Values, "W G"]:
        return _share(self.counts[..., APPROVED], self.counts[..., APPLIED])

    @property
    def recall(self) -> Float[Values, "W G"]:
        return _share(self.counts[..., APPROVED_QUALIFIED], self.counts[..., QUALIFIED])


def _share(part: Values, whole: Values) -> Values:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)


def score_values(env: Env) -> Float[Values, "C"]:
    """What a score stands for: the middle of its bin where scores are bins, else itself."""
    edges = np.array(env.params.score_edges)
    return (edges[1:] + edges[:-1]) / 2 if edges.size else np.arange(env.params.num_scores, dtype=float)


def follow(env: Env, policy: Any, *, seeds: int, episodes: int) -> tuple[Evaluation, Course]:
    """What `evaluate` finds, and the course of the same episodes."""
    check_int("seeds", seeds, min=1)
    check_int("episodes", episodes, min=1)
    keys = evaluation_keys(range(seeds), episodes).reshape(-1)
    horizon = int(env.params.horizon)
    windows = min(WINDOWS, horizon)
    outcome, counts, people, total = _follow(
        env.name,
        env.scenario,
        env.params,
        as_policy(policy),
        keys,
        horizon,
        jnp.asarray(score_values(env)),
        windows,
    )
    counts, people, total = (np.asarray(x, np.float64).sum(0) for x in (counts, people, total))
    moved = counts[..., MOVED]
    later = moved[::-1].cumsum(0)[::-1]  # what is still to come
    score = np.concatenate([total - later, total[None]]) / np.maximum(people, 1)
    time = horizon / env.params.population * np.arange(1, windows + 1) / windows
    outcome = jax.tree.map(lambda x: np.asarray(x).reshape(seeds, episodes, *x.shape[1:]), outcome)
    evaluation = Evaluation(env.name, tuple(range(seeds)), metric_columns(env, outcome), outcome)
    return evaluation, Course(time, counts, people, score)


@eqx.filter_jit
def _follow(
    name: str,
    scenario: Scenario,
    params: Any,
    policy: Policy,
    keys: Key[Array, "B"],
    horizon: int,
    values: Float[Array, "C"],
    windows: int,
) -> tuple[Outcome, Float[Array, "B W G 5"], Float[Array, "B G"], Float[Array, "B G"]]:
    env = Env(name, scenario, params)
    places = jnp.arange(values.size, dtype=jnp.float32)

    def worth(obs: Float[Array, "... D"]) -> Float[Array, "..."]:
        return jnp.interp(obs[..., 0] * max(values.size - 1, 1), places, values)

    def one(key: Key[Array, ""]) -> tuple[Outcome, Array, Array, Array]:
        decisions, state = policy.rollout(env, key, horizon)
        approved = scenario.accepts(decisions.action)
        moved = worth(decisions.next_self_obs) - worth(decisions.obs)
        parts = (approved | True, approved, decisions.qualified, approved & decisions.qualified, moved)
        rows = jnp.stack([part.astype(jnp.float32) for part in parts], -1) * decisions.valid[:, None]
        window = jnp.arange(horizon) * windows // horizon
        counts = jnp.zeros((windows, params.num_groups, 5)).at[window, decisions.group].add(rows)
        people_now = scenario.snapshot(state)
        people = jnp.zeros(params.num_groups).at[people_now.group].add(1.0)
        standing = jnp.interp(people_now.observed_score, places, values)
        total = jnp.zeros(params.num_groups).at[people_now.group].add(standing)
        return summarise(decisions, state, scenario, params), counts, people, total

    return jax.vmap(one)(keys)
