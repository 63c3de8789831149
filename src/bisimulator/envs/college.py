"""College admissions: applicants pay to raise the score that the college sees, and budgets differ.

In each step one person of the pool, drawn uniformly, applies; admitted people leave the pool. Before an application the
observed score is raised one point at a time, each further point with probability epsilon, while the budget covers
its cost. Success depends on the true score only. (Paper, section 5.2 and appendix "College Admissions Environment".)

The paper's tables decide two ambiguities: a failed admission costs -1 and a rejection is worth 0 (the text's rule is
`rewards=(1, 0, -1)`), and scores are the floor of the normal draws.

`omega` is the cost of a point, per group.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import (
    Scenario,
    Snapshot,
    Step,
    Vocabulary,
    accepts_positive,
    category_between,
    category_borders,
    draw_category,
    random_index,
    random_words,
    read_row,
    score_and_group,
    uniform,
)
from bisimulator.envs._college_params import Params, make_params

# The columns of `State.people`: one record per person, so that a step reads and writes one row.
TRUE, OBSERVED, BUDGET, PAID, GROUP = range(5)


class State(eqx.Module):
    """Everybody's record, and the pool of people who can still apply."""

    people: Float[Array, "N 5"]
    pool: Int[Array, "N"]  # its first `remaining` entries can still apply
    remaining: Int[Array, ""]
    slot: Int[Array, ""]  # the applicant's index in the pool
    t: Int[Array, ""]


def reset(key: Key[Array, ""], params: Params) -> State:
    """Draw groups, scores, budgets and the first applicant."""
    k_group, k_score, k_budget, k_raise, k_first = jax.random.split(key, 5)
    shape = (params.population,)
    group = draw_category(params.group_probs, jax.random.uniform(k_group, shape))
    score = draw_scores(k_score, group, params)
    budget = params.budget_mean[group] + params.budget_sd[group] * jax.random.normal(k_budget, shape)
    budget = jnp.clip(budget, 0, params.budget_max)
    people = jnp.stack([score, score, budget, jnp.zeros(shape), group.astype(jnp.float32)], -1)
    return State(
        people=prepare(people, jax.random.uniform(k_raise, shape), params),
        pool=jnp.arange(params.population),
        remaining=jnp.int32(params.population),
        slot=random_index(jax.random.bits(k_first), params.population),
        t=jnp.int32(0),
    )


def draw_scores(key: Key[Array, ""], group: Int[Array, "N"], params: Params) -> Float[Array, "N"]:
    """True scores: by `initial`, otherwise the floor of a normal draw."""
    if params.initial is not None:
        drawn = category_between(
            category_borders(params.initial)[group], jax.random.uniform(key, group.shape)
        )
        return drawn.astype(jnp.float32)
    score = params.score_mean[group] + params.score_sd[group] * jax.random.normal(key, group.shape)
    return jnp.clip(jnp.floor(score), 0, params.num_scores - 1)


def prepare(person: Float[Array, "... 5"], u: Float[Array, "..."], params: Params) -> Float[Array, "... 5"]:
    """Raise the observed score for the next application, as far as chance, budget and scale allow.

    This happens when a person enters the pool and after each rejection, so exactly one raise precedes each application.
    For the college it is the same as raising the score when the person is drawn.
    """
    cost = params.omega[person[..., GROUP].astype(jnp.int32), 0]
    by_chance = jnp.where(params.epsilon >= 1, jnp.inf, jnp.floor(jnp.log1p(-u) / jnp.log(params.epsilon)))
    affordable = jnp.floor(person[..., BUDGET] / cost)
    room = params.num_scores - 1 - person[..., OBSERVED]
    points = jnp.minimum(jnp.minimum(by_chance, affordable), room)
    raised = [
        person[..., TRUE],
        person[..., OBSERVED] + points,
        person[..., BUDGET] - points * cost,
        person[..., PAID] + points * cost,
        person[..., GROUP],
    ]
    return jnp.stack(raised, -1)


def step(key: Key[Array, ""], state: State, action: Int[Array, ""], params: Params) -> tuple[State, Step]:
    """Decide on the applicant and draw the next one."""
    bits = random_words(key, 3)
    applicant, last = state.pool[jnp.stack([state.slot, jnp.maximum(state.remaining - 1, 0)])]
    person = read_row(state.people, applicant)
    qualified = (
        uniform(bits[0]) < params.success[person[GROUP].astype(jnp.int32), person[TRUE].astype(jnp.int32)]
    )
    empty = state.remaining <= 0  # once the pool is empty, nothing changes any more
    admitted = accepts_positive(action) & ~empty
    gain, loss, regret = params.rewards
    reward = jnp.where(admitted, jnp.where(qualified, gain, loss), jnp.where(qualified & ~empty, regret, 0.0))
    after = jnp.where(admitted | empty, person, prepare(person, uniform(bits[1]), params))
    # the last person of the pool takes the admitted person's place, which avoids a copy of the pool
    remaining = state.remaining - admitted
    state = State(
        people=state.people.at[applicant].set(after),
        pool=state.pool.at[state.slot].set(jnp.where(admitted, last, applicant)),
        remaining=remaining,
        slot=random_index(bits[2], jnp.maximum(remaining, 1)),
        t=state.t + 1,
    )
    terminated = remaining <= 0
    return state, Step(
        obs=observe(state, params),
        reward=reward,
        terminated=terminated,
        truncated=(state.t >= params.horizon) & ~terminated,
        group=person[GROUP].astype(jnp.int32),
        qualified=qualified,
        cost=person[PAID],
        next_self_obs=describe(after, params),
    )


def observe(state: State, params: Params) -> Float[Array, "D"]:
    """The applicant's observation."""
    return describe(state.people[state.pool[state.slot]], params)


def describe(person: Float[Array, "... 5"], params: Params) -> Float[Array, "... D"]:
    """A person's observation: observed score in 0..1, group one-hot."""
    return score_and_group(person[..., OBSERVED], person[..., GROUP], params)


def snapshot(state: State) -> Snapshot:
    """Everybody's group and scores."""
    people = state.people
    return Snapshot(people[..., GROUP].astype(jnp.int32), people[..., TRUE], people[..., OBSERVED])


COLLEGE = Scenario(
    summary="Admissions; applicants pay to raise their observed score (2 groups)",
    make_params=make_params,
    reset=reset,
    step=step,
    observe=observe,
    snapshot=snapshot,
    omega_names=("cost",),
    omega_bounds=(0.5, 1.0),  # subsidies: a point can become cheaper, not more expensive
    action_names=("reject", "admit"),
    applicants_pay=True,
    vocabulary=Vocabulary("who would succeed", "are admitted", "admissions"),
)
