"""Lending: a bank decides on loan applications, and its decisions move people's credit scores.

In each step one person, drawn uniformly, applies. If the loan is accepted and repaid, the score rises and the bank
gains; if it is accepted and defaulted on, the score falls and the bank loses; if it is rejected, nothing changes.
Whether a person would repay is also drawn for the rejected, because recall needs it. (Paper, section 5.1 and appendix
"Lending Environment".)

Every person has a true score, which determines repayment, and an observed score, which the bank sees. They start
equal. `omega` sets how far each group's observed score moves; with the default both scores stay equal.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from bisimulator.core import (
    Act,
    Decisions,
    ParallelEpisodes,
    PersonModel,
    Scenario,
    Snapshot,
    Step,
    Vocabulary,
    random_index,
    random_words,
    read_row,
    uniform,
)
from bisimulator.envs import _lending_life as life
from bisimulator.envs._lending_chain import history_observations, person_chain, true_omega
from bisimulator.envs._lending_params import Params, make_params, split_scores, with_repayment
from bisimulator.envs._lending_people import GROUP, OBSERVED, TRUE, decide, describe, draw_people
from bisimulator.envs._parallel_rounds import Rounds, assign_rounds


class State(eqx.Module):
    """Everybody's record, and who applies now."""

    people: Float[Array, "N 6"]
    applicant: Int[Array, ""]
    t: Int[Array, ""]


def reset(key: Key[Array, ""], params: Params) -> State:
    """Draw groups, scores and the first applicant."""
    *k_people, k_first = jax.random.split(key, 4)
    people = draw_people(k_people, params, (params.population,))
    first = random_index(jax.random.bits(k_first), params.population)
    return State(people=people, applicant=first, t=jnp.int32(0))


def step(key: Key[Array, ""], state: State, action: Int[Array, ""], params: Params) -> tuple[State, Step]:
    """Decide on the applicant and draw the next one."""
    bits = random_words(key, 2)
    person = read_row(state.people, state.applicant)
    person, reward, qualified = decide(person, action, uniform(bits[0]), params)
    state = State(
        people=state.people.at[state.applicant].set(person),
        applicant=random_index(bits[1], params.population),
        t=state.t + 1,
    )
    return state, Step(
        obs=observe(state, params),
        reward=reward,
        terminated=jnp.array(False),
        truncated=state.t >= params.horizon,
        group=person[GROUP].astype(jnp.int32),
        qualified=qualified,
        cost=jnp.float32(0),
        next_self_obs=describe(person, params, state.t),
    )


def observe(state: State, params: Params) -> Float[Array, "D"]:
    """The applicant's observation."""
    return describe(state.people[state.applicant], params, state.t)


def snapshot(state: State) -> Snapshot:
    """Everybody's group and scores."""
    people = state.people
    return Snapshot(people[..., GROUP].astype(jnp.int32), people[..., TRUE], people[..., OBSERVED])


class Visits(eqx.Module):
    """Everything that is random in an episode except the policy: people, order of visits, and who would repay."""

    people: Float[Array, "N 6"]
    visitor: Int[Array, "T"]
    rounds: Rounds  # which visits are decided in parallel
    u: Float[Array, "T"]
    key: Key[Array, ""]  # for the policy


# number of overflowing visits decided, people now, people before each visit, action of each visit
_Overflow: TypeAlias = tuple[Int[Array, ""], Float[Array, "N 6"], Float[Array, "T 6"], Int[Array, "T"]]


def plan(key: Key[Array, ""], params: Params, horizon: int) -> Visits:
    """Draw the visits of an episode, which depend neither on the policy nor on omega."""
    k_reset, k_visit, k_outcome, k_act = jax.random.split(key, 4)
    visitor = random_index(jax.random.bits(k_visit, (horizon,)), params.population)
    u = jax.random.uniform(k_outcome, (horizon,))
    rounds = assign_rounds(visitor, params.population)
    return Visits(reset(k_reset, params).people, visitor, rounds, u, k_act)


def play(visits: Visits, act: Act, params: Params) -> tuple[Decisions, State]:
    """Play an episode with hundreds of decisions in parallel, with the same distribution as step by step.

    People do not influence each other, so only the order of each person's own visits matters. `act` must not depend
    on earlier decisions.
    """
    horizon, rounds = visits.visitor.shape[0], visits.rounds
    # one more entry for the empty cells of the rounds
    visitor, u = jnp.append(visits.visitor, params.population), jnp.append(visits.u, 0.0)

    def decide_round(
        people: Float[Array, "N 6"], visit: Int[Array, "B"], number: Int[Array, ""]
    ) -> tuple[Float[Array, "N 6"], tuple[Float[Array, "B 6"], Int[Array, "B"]]]:
        who = visitor[visit]
        person = people.at[who].get(mode="clip")
        action = act(jax.random.fold_in(visits.key, number), describe(person, params, visit))
        after, _, _ = decide(person, action, u[visit], params)
        return people.at[who].set(after, mode="drop"), (person, action)

    def decide_overflow(carry: _Overflow) -> _Overflow:
        i, people, before, actions = carry
        visit = rounds.overflow[i][None]
        people, (person, action) = decide_round(people, visit, rounds.visits.shape[0] + i)
        return i + 1, people, before.at[visit].set(person), actions.at[visit].set(action)

    numbers = jnp.arange(rounds.visits.shape[0])
    people, decided = jax.lax.scan(
        lambda people, x: decide_round(people, *x), visits.people, (rounds.visits, numbers)
    )
    before, action = (x.reshape(-1, *x.shape[2:]).at[rounds.cell].get(mode="clip") for x in decided)
    start = (jnp.int32(0), people, before, action)
    _, people, before, action = jax.lax.while_loop(
        lambda carry: carry[0] < rounds.num_overflow, decide_overflow, start
    )
    after, reward, qualified = decide(before, action, visits.u, params)
    decisions = Decisions(
        obs=describe(before, params, jnp.arange(horizon)),
        action=action,
        reward=reward,
        group=before[:, GROUP].astype(jnp.int32),
        qualified=qualified,
        cost=jnp.zeros(horizon),
        next_self_obs=describe(after, params, jnp.arange(horizon) + 1),
        valid=jnp.ones(horizon, bool),
    )
    return decisions, State(people=people, applicant=visits.visitor[-1], t=jnp.int32(horizon))


_WORDS = Vocabulary("who would repay", "get a loan", "loans")
_LIFE = Scenario(
    summary="One applicant's life: an episode is everything that happens to one person",
    make_params=make_params,
    reset=life.reset,
    step=life.step,
    observe=life.observe,
    snapshot=life.snapshot,
    omega_names=("c_plus", "c_minus"),
    omega_bounds=(0.0, 2.0),
    scores_move=True,
    vocabulary=_WORDS,
)
LENDING = Scenario(
    summary="Loans; repayment depends on the credit score (2 groups)",
    make_params=make_params,
    reset=reset,
    step=step,
    observe=observe,
    snapshot=snapshot,
    omega_names=("c_plus", "c_minus"),
    omega_bounds=(0.0, 2.0),
    scores_move=True,
    vocabulary=_WORDS,
    parallel=ParallelEpisodes(plan, play),
    person_model=PersonModel(
        person_chain,
        history_observations,
        true_omega,
        lambda params: params.clock,
        split_scores,
        with_repayment,
    ),
    life=_LIFE,
)
LENDING_CONSCIENTIOUSNESS = dataclasses.replace(
    LENDING,
    summary="Loans; repayment also depends on a hidden conscientiousness (2 groups)",
    make_params=partial(make_params, conscientiousness=(0.55, 0.1)),
)
LENDING_10_GROUPS = dataclasses.replace(
    LENDING,
    summary="Loans; ten groups of evenly decreasing advantage",
    make_params=partial(make_params, groups=10),
)
