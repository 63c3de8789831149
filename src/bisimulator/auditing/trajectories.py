"""How each group fares over time: exactly, or from simulated episodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from bisimulator.core import Env, Outcome, Params, Scenario, Values, evenly, sum_at
from bisimulator.errors import MAX_EPISODES, check_int, check_seeds
from bisimulator.evaluation import Evaluation, metric_columns
from bisimulator.exact.chain import Expectation, expect
from bisimulator.exact.visits import max_visits
from bisimulator.policies import Policy
from bisimulator.simulation import action_range, check_action_range, evaluation_keys, in_batches, summarise

WINDOWS = 25
APPLIED, APPROVED, QUALIFIED, APPROVED_QUALIFIED, SCORE_CHANGE = range(5)  # what is summed in each window


@dataclasses.dataclass(frozen=True, eq=False)
class Trajectories:
    """Sums over all simulated episodes, or the expected sums of one. Shapes: W windows of time, G groups."""

    time: Float[Values, "W"]  # applications of an average person until the end of the window
    sums: Float[Values, "W G 5"]
    people: Float[Values, "G"]
    score: Float[Values, "W+1 G"]  # average observed score at the start and after each window

    @property
    def approval_rate(self) -> Float[Values, "W G"]:
        return _ratio(self.sums[..., APPROVED], self.sums[..., APPLIED])

    @property
    def recall(self) -> Float[Values, "W G"]:
        return _ratio(self.sums[..., APPROVED_QUALIFIED], self.sums[..., QUALIFIED])

    def __repr__(self) -> str:
        return f"Trajectories({len(self.people)} groups, {len(self.time)} windows of time)"


def _ratio(part: Values, whole: Values) -> Values:
    ratio: Values = np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)
    return ratio


def score_values(env: Env) -> Float[Values, "C"]:
    """The middle of each score's bin where scores are bins; otherwise the scores themselves."""
    edges = np.array(env.params.score_edges)
    return (edges[1:] + edges[:-1]) / 2 if edges.size else np.arange(env.params.num_scores, dtype=float)


def exact_trajectories(env: Env, accept: Float[Values, "G C"] | Float[Values, "G C K K"]) -> Trajectories:
    """Expectations of an episode under `pi(accept | group, score)`, which may also look at past loans."""
    return trajectories_of(env, [_expect_until(env, accept, end) for end in window_ends(env)])


def window_ends(env: Env) -> list[int]:
    """The number of decisions until the end of each window."""
    windows = min(WINDOWS, env.horizon)
    return [-(-env.horizon * (w + 1) // windows) for w in range(windows)]


def trajectories_of(env: Env, cumulative: Sequence[Expectation]) -> Trajectories:
    """From the expectations until the end of each window."""
    model, values = env.scenario.person_model, score_values(env)
    assert model is not None
    counts = ("applied", "approved", "qualified", "approved_qualified")
    sums = np.stack([np.stack([getattr(each, name) for name in counts], -1) for each in cumulative])
    start = model.chain(env.params).initial @ values
    score = np.stack([start, *(each.final_scores @ values for each in cumulative)])
    people = cumulative[0].people
    change = np.diff(score, axis=0) * people
    sums = np.concatenate([np.diff(sums, axis=0, prepend=0.0), change[..., None]], -1)
    return Trajectories(np.array(window_ends(env)) / env.params.population, sums, people, score)


def _expect_until(env: Env, accept: Float[Values, "G C *K"], end: int) -> Expectation:
    """The expectation of an episode's first `end` decisions."""
    params = eqx.tree_at(lambda p: p.horizon, env.params, jnp.int32(end))
    shorter = dataclasses.replace(env, params=params)
    if accept.ndim == 2:
        return expect(shorter, accept)
    size = max_visits(shorter)
    return expect(shorter, accept[..., :size, :size])


def simulate_trajectories(
    env: Env, policy: Policy, *, seeds: int, episodes: int
) -> tuple[Evaluation, Trajectories]:
    """The evaluation as `bisimulator.evaluate` has it, and the trajectories of the same episodes."""
    check_int("episodes", episodes, min=1, max=MAX_EPISODES)
    keys = evaluation_keys(check_seeds(seeds), episodes).reshape(-1)
    horizon = env.horizon
    windows = min(WINDOWS, horizon)
    values = jnp.asarray(score_values(env))

    def run(keys: Key[Array, "B"]) -> tuple[Outcome, tuple[Array, ...], tuple[Array, ...]]:
        return _simulate(env.name, env.scenario, env.params, policy, keys, horizon, values, windows)

    outcome, totals, (lowest, highest) = in_batches(env, keys, run)
    check_action_range(env, lowest.min(), highest.max())
    sums, people, final_score = (x.sum(0) for x in totals)
    still_to_come = sums[..., SCORE_CHANGE][::-1].cumsum(0)[::-1]
    score = np.concatenate([final_score - still_to_come, final_score[None]]) / np.maximum(people, 1)
    time = horizon / env.params.population * np.arange(1, windows + 1) / windows
    outcome = jax.tree.map(lambda x: x.reshape(seeds, episodes, *x.shape[1:]), outcome)
    evaluation = Evaluation(env.name, tuple(range(seeds)), metric_columns(env, outcome), outcome, env, policy)
    return evaluation, Trajectories(time, sums, people, score)


@eqx.filter_jit
def _simulate(
    name: str,
    scenario: Scenario,
    params: Params,
    policy: Policy,
    keys: Key[Array, "B"],
    horizon: int,
    values: Float[Array, "C"],
    windows: int,
) -> tuple[Outcome, tuple[Array, ...], tuple[Array, ...]]:
    """Outcomes; sums by window, people and their total final scores; lowest and highest action of every episode."""
    env = Env(name, scenario, params)
    scores = jnp.arange(values.size, dtype=jnp.float32)

    def observed_score(obs: Float[Array, "... D"]) -> Float[Array, "..."]:
        return jnp.interp(obs[..., 0] * max(values.size - 1, 1), scores, values)

    def one(key: Key[Array, ""]) -> tuple[Outcome, tuple[Array, ...], tuple[Array, ...]]:
        decisions, state = policy.rollout(env, key, horizon)
        approved = scenario.accepts(decisions.action)
        change = observed_score(decisions.next_self_obs) - observed_score(decisions.obs)
        summed = (approved | True, approved, decisions.qualified, approved & decisions.qualified, change)
        rows = jnp.stack([x.astype(jnp.float32) for x in summed], -1) * decisions.valid[:, None]
        groups, end = (params.num_groups,), scenario.snapshot(state)
        sums = sum_at((windows, *groups, 5), (evenly(horizon, windows), decisions.group), rows)
        people = sum_at(groups, (end.group,), jnp.ones(end.group.shape))
        final_score = sum_at(groups, (end.group,), jnp.interp(end.observed_score, scores, values))
        outcome = summarise(decisions, state, scenario, params)
        return outcome, (sums, people, final_score), action_range(decisions)

    return jax.vmap(one)(keys)
