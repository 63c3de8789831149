"""College admissions: applicants pay to raise the score that the college sees, and budgets differ.

Each step one person of the pool, drawn uniformly, applies; the admitted leave the pool. Before an application the
observed score is raised one point at a time, each further point with probability epsilon, while the budget covers
its cost. Success depends on the true score alone. (Paper, section 5.2 and appendix "College Admissions Environment".)

Two readings of the paper are settled by its tables: a failed admission costs -1 and a rejection is worth 0
(the text's rule is `rewards=(1, 0, -1)`), and scores are the floor of the normal draws.

`omega` is the group-specific cost of a point.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import (
    Scenario,
    Snapshot,
    Step,
    Vocabulary,
    accepts_positive,
    draw_category,
    random_index,
    random_words,
    read_row,
    score_and_group,
    uniform,
)
from bisimulator.errors import (
    check_array,
    check_distribution,
    check_int,
    check_probabilities,
    check_real,
    check_shape,
)

# The columns of `State.people`: one record a person, so that a step reads and writes one place in memory.
TRUE, OBSERVED, BUDGET, PAID, GROUP = range(5)


class Params(eqx.Module):
    """All arrays but the population, so that a sweep over them is a `vmap`."""

    score_mean: Float[Array, "G"]
    score_sd: Float[Array, "G"]
    budget_mean: Float[Array, "G"]
    budget_sd: Float[Array, "G"]
    budget_max: Float[Array, ""]
    success: Float[Array, "C"]  # probability of success at each true score
    group_probs: Float[Array, "G"]
    omega: Float[Array, "G 1"]  # cost of a point
    epsilon: Float[Array, ""]
    rewards: Float[Array, "3"]  # admitted and succeeds, admitted and fails, rejected but would succeed
    horizon: Int[Array, ""]
    population: int = eqx.field(static=True)

    @property
    def group_names(self) -> tuple[str, ...]:
        return ()

    @property
    def score_edges(self) -> tuple[float, ...]:
        return ()

    @property
    def omega_scale(self) -> float:
        return 1.0

    @property
    def num_groups(self) -> int:
        return int(self.group_probs.shape[0])

    @property
    def num_scores(self) -> int:
        return int(self.success.shape[0])

    @property
    def observation_size(self) -> int:
        return self.num_groups + 1

    @property
    def qualified_probs(self) -> Float[Array, "G C"]:
        return jnp.broadcast_to(self.success, (self.num_groups, self.num_scores))

    @property
    def accept_rewards(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return self.rewards[0], self.rewards[1]


class State(eqx.Module):
    people: Float[Array, "N 5"]
    pool: Int[Array, "N"]  # the first `remaining` entries are the people who can still apply
    remaining: Int[Array, ""]
    slot: Int[Array, ""]  # the applicant's place in the pool
    t: Int[Array, ""]


def make_params(
    *,
    score_mean: Any = None,
    score_sd: Any = 1.0,
    budget_mean: Any = None,
    budget_sd: Any = 1.0,
    budget_max: float = 5.0,
    groups: int | None = None,
    c_max: int = 10,
    success: Any = None,
    group_probs: Any = None,
    omega: Any = None,
    epsilon: float = 0.5,
    rewards: Any = (1.0, -1.0, 0.0),
    population: int = 1000,
    horizon: int = 1000,
) -> Params:
    """Checked parameters.

    Args:
      score_mean, score_sd: normal distribution of the true scores, one a group (sd: one for all is fine).
      budget_mean, budget_sd, budget_max: normal distribution of the budgets, clipped to [0, budget_max].
      groups: number of groups; needed only where nothing else says it. Means are then spread evenly.
      c_max: number of scores (the paper's C_max).
      success: probability of success at each true score, (c_max,).
      group_probs: probability of each group, (groups,).
      omega: (groups,) or (groups, 1), what a point costs.
      epsilon: probability of each further point.
      rewards: admitted and succeeds, admitted and fails, rejected but would have succeeded.
      population, horizon: people, and steps until the episode is truncated.
    """
    count = _count_groups(groups, score_mean, budget_mean, group_probs)
    per_group = {
        "score_mean": np.linspace(8, 5, count) if score_mean is None else score_mean,
        "score_sd": score_sd,
        "budget_mean": np.linspace(4, 2, count) if budget_mean is None else budget_mean,
        "budget_sd": budget_sd,
    }
    normals = {}
    for name, value in per_group.items():
        array = check_array(name, value, ndim=(0, 1))
        array = np.full(count, array) if array.ndim == 0 else array
        check_shape(name, array, (count,), "one a group")
        if name.endswith("sd") and (array < 0).any():
            raise ValueError(f"{name} must not be negative, got {array.min():g}; pass a standard deviation")
        normals[name] = jnp.asarray(array, jnp.float32)
    probs = check_distribution(
        "group_probs", np.full(count, 1 / count) if group_probs is None else group_probs
    )
    check_shape("group_probs", probs, (count,), "one a group")
    check_int("c_max", c_max, min=1)
    chance = check_probabilities("success", np.linspace(0, 0.9, c_max) if success is None else success)
    check_shape("success", chance, (c_max,), "one a score; set c_max to their number")
    cost = check_array("omega", np.ones(count) if omega is None else omega, ndim=(1, 2))
    cost = cost.reshape(-1, 1) if cost.ndim == 1 else cost
    check_shape("omega", cost, (count, 1), "the cost of a point for each group")
    if (cost <= 0).any():
        raise ValueError(f"omega must be positive, got {cost.min():g}; a point must cost something")
    pay = check_array("rewards", rewards, ndim=(1,))
    check_shape("rewards", pay, (3,), "admitted and succeeds, admitted and fails, rejected but would succeed")
    as_float, as_int = partial(jnp.asarray, dtype=jnp.float32), partial(jnp.asarray, dtype=jnp.int32)
    return Params(
        **normals,
        budget_max=as_float(check_real("budget_max", budget_max, min=0)),
        success=as_float(chance),
        group_probs=as_float(probs),
        omega=as_float(cost),
        epsilon=as_float(check_real("epsilon", epsilon, min=0, max=1)),
        rewards=as_float(pay),
        horizon=as_int(check_int("horizon", horizon, min=1, max=2**31 - 2)),
        population=check_int("population", population, min=1, max=2**31 - 2),
    )


def _count_groups(groups: int | None, *per_group: Any) -> int:
    if groups is not None:
        return check_int("groups", groups, min=1)
    sizes = [np.size(value) for value in per_group if value is not None]
    if sizes and sizes[0] == 0:
        raise ValueError("got no group; pass at least one entry")
    return sizes[0] if sizes else 2


def reset(key: Key[Array, ""], params: Params) -> State:
    k_group, k_score, k_budget, k_raise, k_first = jax.random.split(key, 5)
    shape = (params.population,)
    group = draw_category(params.group_probs, jax.random.uniform(k_group, shape))
    score = params.score_mean[group] + params.score_sd[group] * jax.random.normal(k_score, shape)
    score = jnp.clip(jnp.floor(score), 0, params.num_scores - 1)
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


def prepare(person: Float[Array, "... 5"], u: Float[Array, "..."], params: Params) -> Float[Array, "... 5"]:
    """Raise the observed score for the next application, as far as luck, budget and scale allow.

    It happens when a person enters the pool and after each rejection, so each application is preceded by
    exactly one raise: to the college the same as raising when the person is drawn.
    """
    cost = params.omega[person[..., GROUP].astype(jnp.int32), 0]
    lucky = jnp.where(params.epsilon >= 1, jnp.inf, jnp.floor(jnp.log1p(-u) / jnp.log(params.epsilon)))
    affordable = jnp.floor(person[..., BUDGET] / cost)
    room = params.num_scores - 1 - person[..., OBSERVED]
    points = jnp.minimum(jnp.minimum(lucky, affordable), room)
    raised = [
        person[..., TRUE],
        person[..., OBSERVED] + points,
        person[..., BUDGET] - points * cost,
        person[..., PAID] + points * cost,
        person[..., GROUP],
    ]
    return jnp.stack(raised, -1)


def step(key: Key[Array, ""], state: State, action: Int[Array, ""], params: Params) -> tuple[State, Step]:
    bits = random_words(key, 3)
    applicant, last = state.pool[jnp.stack([state.slot, jnp.maximum(state.remaining - 1, 0)])]
    person = read_row(state.people, applicant)
    qualified = uniform(bits[0]) < params.success[person[TRUE].astype(jnp.int32)]
    over = state.remaining <= 0  # once the pool is empty nothing changes any more
    admitted = accepts_positive(action) & ~over
    gain, loss, regret = params.rewards
    reward = jnp.where(admitted, jnp.where(qualified, gain, loss), jnp.where(qualified & ~over, regret, 0.0))
    after = jnp.where(admitted | over, person, prepare(person, uniform(bits[1]), params))
    # the admitted person's place goes to the last one of the pool: no copy of the pool
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
    return describe(state.people[state.pool[state.slot]], params)


def describe(person: Float[Array, "... 5"], params: Params) -> Float[Array, "... D"]:
    """Observed score in 0..1, group one-hot."""
    return score_and_group(person[..., OBSERVED], person[..., GROUP], params)


def snapshot(state: State) -> Snapshot:
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
    omega_bounds=(0.5, 1.0),  # subsidies: a point may be made cheaper, not dearer
    action_names=("reject", "admit"),
    applicants_pay=True,
    vocabulary=Vocabulary("who would succeed", "are admitted", "admissions"),
)
