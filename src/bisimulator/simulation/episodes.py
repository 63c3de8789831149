"""Whole episodes under a policy, and what they amount to per group."""

from __future__ import annotations

from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from bisimulator.core import (
    COUNTS,
    Act,
    Decisions,
    Env,
    Outcome,
    Params,
    Scenario,
    State,
    Tallies,
    count_row,
    evenly,
    score_histograms,
    sum_at,
)

Carry: TypeAlias = tuple[State, Float[Array, "D"], Bool[Array, ""]]  # state, observation, still valid

CURVE_POINTS = 100  # times at which cumulative approvals are kept


def episode(
    scenario: Scenario, key: Key[Array, ""], act: Act, params: Params, horizon: int
) -> tuple[Decisions, State]:
    """One episode of `horizon` decisions; side by side where the scenario offers it."""
    return play(scenario, plan(scenario, key, params, horizon), act, params, horizon)


def plan(scenario: Scenario, key: Key[Array, ""], params: Params, horizon: int) -> PyTree:
    """What is random in an episode but the policy, so that it can be played again with another omega."""
    return key if scenario.parallel is None else scenario.parallel.plan(key, params, horizon)


def play(
    scenario: Scenario, planned: PyTree, act: Act, params: Params, horizon: int
) -> tuple[Decisions, State]:
    """The planned episode under a policy."""
    if scenario.parallel is not None:
        return scenario.parallel.play(planned, act, params)
    return episode_by_steps(scenario, planned, act, params, horizon)


def episode_by_steps(
    scenario: Scenario, key: Key[Array, ""], act: Act, params: Params, horizon: int
) -> tuple[Decisions, State]:
    """One episode, one decision after the other. After a termination nothing changes any more."""
    k_reset, k_steps, k_act = jax.random.split(key, 3)
    start = begin(scenario, k_reset, params)
    (state, _, _), decisions = advance(scenario, (k_steps, k_act), act, params, start, jnp.arange(horizon))
    return decisions, state


def begin(scenario: Scenario, key: Key[Array, ""], params: Params) -> Carry:
    """The start of an episode."""
    state = scenario.reset(key, params)
    return state, scenario.observe(state, params), jnp.array(True)


def advance(
    scenario: Scenario,
    keys: tuple[Key[Array, ""], Key[Array, ""]],
    act: Act,
    params: Params,
    carry: Carry,
    times: Int[Array, "T"],
) -> tuple[Carry, Decisions]:
    """The decisions at these times, one after the other; `keys` are the episode's, of its steps and its actions."""
    k_steps, k_act = keys

    def decide(carry: Carry, t: Int[Array, ""]) -> tuple[Carry, Decisions]:
        state, obs, valid = carry
        action = act(jax.random.fold_in(k_act, t), obs)
        state, step = scenario.step(jax.random.fold_in(k_steps, t), state, action, params)
        now = Decisions(
            obs=obs,
            action=action,
            reward=step.reward,
            group=step.group,
            qualified=step.qualified,
            cost=step.cost,
            next_self_obs=step.next_self_obs,
            valid=valid,
            tallies=step.tallies,
        )
        return (state, step.obs, valid & ~step.terminated), now

    return jax.lax.scan(decide, carry, times)


def summarise(decisions: Decisions, state: State, scenario: Scenario, params: Params) -> Outcome:
    """An episode's per-group counts, final score distributions and approvals over time; exact at any size."""
    counts, approvals, tallies = (
        _count_decisions(decisions, scenario, params)
        if decisions.tallies is None
        else _add_tallies(decisions.tallies, decisions.valid)
    )
    true, observed = score_histograms(scenario.snapshot(state), params.num_groups, params.num_scores)
    return Outcome(counts, true, observed, approvals, tallies)


def _count_decisions(
    decisions: Decisions, scenario: Scenario, params: Params
) -> tuple[Float[Array, "G 7"], Int[Array, "P G"], None]:
    """The counts of decisions on one applicant each, and the approvals over time."""
    groups, horizon = params.num_groups, decisions.action.shape[0]
    rows = count_row(
        scenario.accepts(decisions.action), decisions.qualified, decisions.reward, decisions.cost
    )
    rows = rows * decisions.valid[:, None]
    counts = sum_at((groups, len(COUNTS)), (decisions.group,), rows)
    points = min(CURVE_POINTS, horizon)
    approved = rows[:, COUNTS.index("approved")].astype(jnp.int32)
    moments = jnp.zeros((points, groups), jnp.int32).at[evenly(horizon, points), decisions.group]
    return counts, moments.add(approved).cumsum(0, dtype=jnp.int32), None


def _add_tallies(
    tallies: Tallies, valid: Bool[Array, "T"]
) -> tuple[Float[Array, "G 7"], Int[Array, "P G"], Tallies]:
    """The sums of decisions about all groups at once, and the supply over time; of `COUNTS` they have the reward."""
    horizon, groups = tallies["supply"].shape
    rows = {name: values * valid[:, None] for name, values in tallies.items()}
    rows["steps"] = jnp.broadcast_to(valid[:, None].astype(jnp.float32), (horizon, groups))
    nobody: tuple[Int[Array, "B"], ...] = (jnp.zeros(horizon, jnp.int32),)
    sums = {name: sum_at((1, groups), nobody, values)[0] for name, values in rows.items()}
    with jax.enable_x64(True):
        empty = jnp.zeros((groups, len(COUNTS)), sums["reward"].dtype)
        counts = empty.at[:, COUNTS.index("reward")].set(sums.pop("reward"))
    points = min(CURVE_POINTS, horizon)
    supplied = jnp.zeros((points, groups)).at[evenly(horizon, points)].add(rows["supply"])
    return counts, jnp.round(supplied.cumsum(0)).astype(jnp.int32), sums


def action_range(decisions: Decisions) -> tuple[Array, Array]:
    """The lowest and the highest action of an episode, for `check_action_range`."""
    valid = decisions.valid.reshape(-1, *[1] * (decisions.action.ndim - 1))
    # what is not valid counts as the first decision, which always is
    actions = jnp.where(valid, decisions.action, decisions.action[:1])
    return actions.min(), actions.max()


def check_action_range(env: Env, lowest: float | Array, highest: float | Array) -> None:
    """Raise a ValueError unless all actions are actions of the environment."""
    low, high = env.action_space.bounds
    for action in (lowest, highest):
        if not low <= action <= high:
            raise ValueError(
                f"the policy returned action {action:g}; return {env.action_space}, the actions of {env.name}"
            )
