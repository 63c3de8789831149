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
    Outcome,
    Params,
    Scenario,
    State,
    count_row,
    score_histograms,
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
    state = scenario.reset(k_reset, params)

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
        )
        return (state, step.obs, valid & ~step.terminated), now

    start = (state, scenario.observe(state, params), jnp.array(True))
    (state, _, _), decisions = jax.lax.scan(decide, start, jnp.arange(horizon))
    return decisions, state


def summarise(decisions: Decisions, state: State, scenario: Scenario, params: Params) -> Outcome:
    """An episode's per-group counts, final score distributions and approvals over time."""
    groups, horizon = params.num_groups, decisions.action.shape[0]
    rows = count_row(
        scenario.accepts(decisions.action), decisions.qualified, decisions.reward, decisions.cost
    )
    rows = rows * decisions.valid[:, None]
    counts = jnp.zeros((groups, len(COUNTS))).at[decisions.group].add(rows)
    points = min(CURVE_POINTS, horizon)
    moment = jnp.arange(horizon) * points // horizon
    approved = rows[:, COUNTS.index("approved")]
    approvals = jnp.zeros((points, groups)).at[moment, decisions.group].add(approved).cumsum(0)
    true, observed = score_histograms(scenario.snapshot(state), groups, params.num_scores)
    return Outcome(counts=counts, true_scores=true, observed_scores=observed, approvals=approvals)
