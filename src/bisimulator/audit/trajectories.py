"""How each group fares over time, from simulated episodes."""

from __future__ import annotations

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from bisimulator.core import Env, Outcome, Params, Scenario, Values
from bisimulator.errors import check_int
from bisimulator.evaluation import Evaluation, metric_columns
from bisimulator.policies import Policy
from bisimulator.simulation import evaluation_keys, summarise

WINDOWS = 25
APPLIED, APPROVED, QUALIFIED, APPROVED_QUALIFIED, SCORE_CHANGE = range(5)  # what is summed in each window


@dataclasses.dataclass(frozen=True, eq=False)
class Trajectories:
    """Sums over all episodes. Shapes: W windows of time, G groups."""

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


def simulate_trajectories(
    env: Env, policy: Policy, *, seeds: int, episodes: int
) -> tuple[Evaluation, Trajectories]:
    """The evaluation as `bisimulator.evaluate` has it, and the trajectories of the same episodes."""
    check_int("seeds", seeds, min=1)
    check_int("episodes", episodes, min=1)
    keys = evaluation_keys(range(seeds), episodes).reshape(-1)
    horizon = env.horizon
    windows = min(WINDOWS, horizon)
    outcome, *totals = _simulate(
        env.name, env.scenario, env.params, policy, keys, horizon, jnp.asarray(score_values(env)), windows
    )
    sums, people, final_score = (np.asarray(x, np.float64).sum(0) for x in totals)
    still_to_come = sums[..., SCORE_CHANGE][::-1].cumsum(0)[::-1]
    score = np.concatenate([final_score - still_to_come, final_score[None]]) / np.maximum(people, 1)
    time = horizon / env.params.population * np.arange(1, windows + 1) / windows
    outcome = jax.tree.map(lambda x: np.asarray(x).reshape(seeds, episodes, *x.shape[1:]), outcome)
    evaluation = Evaluation(env.name, tuple(range(seeds)), metric_columns(env, outcome), outcome)
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
) -> tuple[Outcome, Float[Array, "B W G 5"], Float[Array, "B G"], Float[Array, "B G"]]:
    """Outcomes, sums by window, people and their total final scores of every episode."""
    env = Env(name, scenario, params)
    scores = jnp.arange(values.size, dtype=jnp.float32)

    def observed_score(obs: Float[Array, "... D"]) -> Float[Array, "..."]:
        return jnp.interp(obs[..., 0] * max(values.size - 1, 1), scores, values)

    def one(key: Key[Array, ""]) -> tuple[Outcome, Array, Array, Array]:
        decisions, state = policy.rollout(env, key, horizon)
        approved = scenario.accepts(decisions.action)
        change = observed_score(decisions.next_self_obs) - observed_score(decisions.obs)
        summed = (approved | True, approved, decisions.qualified, approved & decisions.qualified, change)
        rows = jnp.stack([x.astype(jnp.float32) for x in summed], -1) * decisions.valid[:, None]
        window = jnp.arange(horizon) * windows // horizon
        sums = jnp.zeros((windows, params.num_groups, 5)).at[window, decisions.group].add(rows)
        end = scenario.snapshot(state)
        people = jnp.zeros(params.num_groups).at[end.group].add(1.0)
        final = jnp.interp(end.observed_score, scores, values)
        final_score = jnp.zeros(params.num_groups).at[end.group].add(final)
        return summarise(decisions, state, scenario, params), sums, people, final_score

    return jax.vmap(one)(keys)
