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
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.core import (
    Act,
    Decisions,
    ParallelEpisodes,
    PersonChain,
    PersonModel,
    Scenario,
    Snapshot,
    Step,
    Values,
    Vocabulary,
    accepts_positive,
    draw_category,
    random_index,
    random_words,
    read_row,
    score_and_group,
    uniform,
)
from bisimulator.envs._lending_params import Params, make_params
from bisimulator.envs._parallel_rounds import Rounds, assign_rounds

# The columns of `State.people`: one record per person, so that a step reads and writes one row.
TRUE, OBSERVED, REPAID, DEFAULTED, GROUP, CONSCIENTIOUSNESS = range(6)


class State(eqx.Module):
    """Everybody's record, and who applies now."""

    people: Float[Array, "N 6"]
    applicant: Int[Array, ""]
    t: Int[Array, ""]


def reset(key: Key[Array, ""], params: Params) -> State:
    """Draw groups, scores and the first applicant."""
    k_group, k_score, k_latent, k_first = jax.random.split(key, 4)
    shape = (params.population,)
    group = draw_category(params.group_probs, jax.random.uniform(k_group, shape))
    score = draw_category(params.initial[group], jax.random.uniform(k_score, shape))
    latent = jnp.zeros(shape)
    if params.conscientiousness is not None:
        mean, sd = params.conscientiousness
        latent = mean + sd * jax.random.normal(k_latent, shape)
    none = jnp.zeros(shape)
    people = jnp.stack([score, score, none, none, group, latent], -1).astype(jnp.float32)
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
        next_self_obs=describe(person, params),
    )


def observe(state: State, params: Params) -> Float[Array, "D"]:
    """The applicant's observation."""
    return describe(state.people[state.applicant], params)


def decide(
    person: Float[Array, "... 6"], action: Int[Array, "..."], u: Float[Array, "..."], params: Params
) -> tuple[Float[Array, "... 6"], Float[Array, "..."], Bool[Array, "..."]]:
    """The person after the decision, the bank's reward, and whether the person would repay.

    `u` are uniform numbers; a person repays if `u` is below the probability of repayment.
    """
    group, score = person[..., GROUP].astype(jnp.int32), person[..., TRUE]
    chance = params.repayment[group, score.astype(jnp.int32)]
    if params.conscientiousness is not None:
        chance = jnp.clip((chance + person[..., CONSCIENTIOUSNESS]) / 2, 0, 1)
    would_repay = u < chance
    accepted = accepts_positive(action)
    repaid, defaulted = accepted & would_repay, accepted & ~would_repay
    top = params.num_scores - 1
    observed_up, observed_down = params.omega[group, 0], params.omega[group, 1]
    moved = [
        jnp.clip(score + repaid * params.score_up - defaulted * params.score_down, 0, top),
        jnp.clip(person[..., OBSERVED] + repaid * observed_up - defaulted * observed_down, 0, top),
        person[..., REPAID] + repaid,
        person[..., DEFAULTED] + defaulted,
        person[..., GROUP],
        person[..., CONSCIENTIOUSNESS],
    ]
    reward = repaid * params.reward_repaid + defaulted * params.reward_default
    return jnp.stack(moved, -1), reward, would_repay


def describe(person: Float[Array, "... 6"], params: Params) -> Float[Array, "... D"]:
    """A person's observation: observed score in 0..1, group one-hot, shares of past loans repaid and defaulted."""
    score_group = score_and_group(person[..., OBSERVED], person[..., GROUP], params)
    past_loans = jnp.maximum(person[..., REPAID] + person[..., DEFAULTED], 1)
    ratios = person[..., REPAID : DEFAULTED + 1] / past_loans[..., None]
    return jnp.concatenate([score_group, ratios], -1)


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
        action = act(jax.random.fold_in(visits.key, number), describe(person, params))
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
        obs=describe(before, params),
        action=action,
        reward=reward,
        group=before[:, GROUP].astype(jnp.int32),
        qualified=qualified,
        cost=jnp.zeros(horizon),
        next_self_obs=describe(after, params),
        valid=jnp.ones(horizon, bool),
    )
    return decisions, State(people=people, applicant=visits.visitor[-1], t=jnp.int32(horizon))


_QUADRATURE_NODES = 32


def person_chain(params: Params) -> PersonChain:
    """A person's score as a Markov chain; conscientiousness becomes hidden types, by Gauss-Hermite quadrature."""
    repayment: Values = np.asarray(params.repayment, np.float64)[None]
    type_probs: Values = np.ones(1)
    if params.conscientiousness is not None:
        mean, sd = np.asarray(params.conscientiousness, np.float64)
        nodes, weights = np.polynomial.hermite_e.hermegauss(_QUADRATURE_NODES)
        latent = (mean + sd * nodes)[:, None, None]
        repayment, type_probs = np.clip((repayment + latent) / 2, 0, 1), weights / weights.sum()
    return PersonChain(
        initial=_normalised(params.initial),
        repayment=repayment,
        type_probs=type_probs,
        group_sizes=params.population * _normalised(params.group_probs),
        score_up=int(params.score_up),
        score_down=int(params.score_down),
        reward_repaid=float(params.reward_repaid),
        reward_default=float(params.reward_default),
        population=params.population,
        horizon=int(params.horizon),
        num_scores=params.num_scores,
    )


def _normalised(probs: Float[Array, "... K"]) -> Float[Values, "... K"]:
    """float32 probabilities as float64 ones that sum to 1 again."""
    exact = np.asarray(probs, np.float64)
    normalised: Values = exact / exact.sum(-1, keepdims=True)
    return normalised


def history_observations(params: Params, size: int) -> Float[Array, "G C k k D"]:
    """Observations of every group and score with `repaid` and `defaulted` past loans, each below `size`."""
    shape = (params.num_groups, params.num_scores, size, size)
    group, score, repaid, defaulted = np.indices(shape, dtype=np.float32)
    columns = {TRUE: score, OBSERVED: score, REPAID: repaid, DEFAULTED: defaulted, GROUP: group}
    person = np.zeros((*shape, 6), np.float32)
    for column, values in columns.items():
        person[..., column] = values
    return describe(jnp.asarray(person), params)


def true_omega(params: Params) -> Float[Array, "G 2"]:
    """The omega with which observed scores equal true scores."""
    moves = jnp.stack([params.score_up, params.score_down]).astype(jnp.float32)
    return jnp.tile(moves, (params.num_groups, 1))


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
    vocabulary=Vocabulary("who would repay", "get a loan", "loans"),
    parallel=ParallelEpisodes(plan, play),
    person_model=PersonModel(person_chain, history_observations, true_omega),
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
