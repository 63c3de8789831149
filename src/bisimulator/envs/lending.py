"""Lending: a bank decides on loan applications, and its decisions move people's credit scores.

Each step one person, drawn uniformly, applies. Accepted and repaid: the score rises and the bank gains;
accepted and defaulted: the score falls and the bank loses; rejected: nothing happens. Who would repay is
drawn also for the rejected, because recall needs it. (Paper, section 5.1 and appendix "Lending Environment".)

Every person has a true score, which drives repayment, and an observed score, which the bank sees. They start
equal; `omega` says by how much the observed one moves for each group, so with the default both stay equal.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.core import (
    Crowd,
    Decisions,
    Scenario,
    Step,
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
TRUE, OBSERVED, REPAID, DEFAULTED, GROUP, CONSCIENTIOUSNESS = range(6)

# Inferred from the published tables: the paper shows the initial distributions only as a picture.
INITIAL = ((0, 0, 0, 0.2, 0.3, 0.3, 0.2), (0.2, 0.2, 0.3, 0.2, 0.1, 0, 0))


class Params(eqx.Module):
    """All arrays but the population, so that a sweep over them is a `vmap`."""

    initial: Float[Array, "G C"]  # p0(c | g)
    repayment: Float[Array, "G C"]  # probability of repayment at each score
    group_probs: Float[Array, "G"]
    omega: Float[Array, "G 2"]  # c_plus, c_minus of the observed score
    score_up: Int[Array, ""]  # how far the true score rises when a loan is repaid
    score_down: Int[Array, ""]
    reward_repaid: Float[Array, ""]
    reward_default: Float[Array, ""]
    horizon: Int[Array, ""]
    conscientiousness: Float[Array, "2"] | None  # mean and sd, or None: credit only
    population: int = eqx.field(static=True)
    group_names: tuple[str, ...] = eqx.field(static=True, default=())  # for display; () where there are none
    score_edges: tuple[float, ...] = eqx.field(static=True, default=())  # of the bins that scores stand for

    @property
    def num_groups(self) -> int:
        return int(self.initial.shape[0])

    @property
    def num_scores(self) -> int:
        return int(self.initial.shape[1])

    @property
    def observation_size(self) -> int:
        return self.num_groups + 3

    @property
    def omega_scale(self) -> float:
        return float(max(int(self.score_up), int(self.score_down), 1))

    @property
    def chance(self) -> Float[Array, "G C"]:
        return self.repayment

    @property
    def stakes(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        return self.reward_repaid, self.reward_default


class State(eqx.Module):
    people: Float[Array, "N 6"]
    applicant: Int[Array, ""]
    t: Int[Array, ""]


def make_params(
    *,
    groups: int | None = None,
    c_max: int | None = None,
    initial: Any = None,
    repayment: Any = None,
    group_probs: Any = None,
    omega: Any = None,
    score_up: int = 1,
    score_down: int = 1,
    reward_repaid: float = 1.0,
    reward_default: float = -1.0,
    conscientiousness: tuple[float, float] | None = None,
    population: int = 1000,
    horizon: int = 10_000,
    group_names: Any = (),
    score_edges: Any = (),
) -> Params:
    """Checked parameters.

    Args:
      groups: number of groups; needed only where nothing else says it.
      c_max: number of scores (the paper's C_max).
      initial: (groups, c_max), each group's distribution of scores at the start.
      repayment: probability of repayment at each score, (c_max,) or (groups, c_max).
      group_probs: probability of each group, (groups,).
      omega: (groups, 2), by how much the observed score moves when a loan is repaid / defaulted; as the true one
        by default.
      score_up, score_down: by how much the true score moves.
      reward_repaid, reward_default: the bank's gain and (negative) loss.
      conscientiousness: mean and standard deviation of k, with repayment (P[c] + k) / 2; None: credit only.
      population, horizon: people, and steps until the episode is truncated.
      group_names: what to call the groups in tables and pages.
      score_edges: (c_max + 1,), where scores are bins of another score: their edges on its scale.
    """
    table = _initial_table(initial, groups, c_max)
    groups, c_max = table.shape
    if group_probs is None:
        group_probs = np.full(groups, 1 / groups)
    probs = check_distribution("group_probs", group_probs)
    check_shape("group_probs", probs, (groups,), "one a group")
    repay = check_probabilities(
        "repayment", np.linspace(0.3, 0.9, c_max) if repayment is None else repayment, ndim=(1, 2)
    )
    if repay.ndim == 1:
        check_shape("repayment", repay, (c_max,), "one a score")
        repay = np.tile(repay, (groups, 1))
    check_shape("repayment", repay, (groups, c_max), "groups x scores")
    up, down = (
        check_int(name, value, least=0, most=2**31 - 2)
        for name, value in (("score_up", score_up), ("score_down", score_down))
    )
    moves = check_array("omega", np.tile((up, down), (groups, 1)) if omega is None else omega, ndim=(2,))
    check_shape("omega", moves, (groups, 2), "c_plus and c_minus for each group")
    if (moves < 0).any():
        raise ValueError(f"omega must not be negative, got {moves.min():g}; c_minus counts downwards already")
    if conscientiousness is not None:
        k = check_array("conscientiousness", conscientiousness, ndim=(1,), way_out="pass (mean, sd)")
        check_shape("conscientiousness", k, (2,), "mean and standard deviation")
        check_real("conscientiousness's standard deviation", k[1], least=0)
    as_float, as_int = partial(jnp.asarray, dtype=jnp.float32), partial(jnp.asarray, dtype=jnp.int32)
    return Params(
        initial=as_float(table),
        repayment=as_float(repay),
        group_probs=as_float(probs),
        omega=as_float(moves),
        score_up=as_int(up),
        score_down=as_int(down),
        reward_repaid=as_float(check_real("reward_repaid", reward_repaid)),
        reward_default=as_float(check_real("reward_default", reward_default)),
        horizon=as_int(check_int("horizon", horizon, least=1, most=2**31 - 2)),
        conscientiousness=None if conscientiousness is None else as_float(k),
        population=check_int("population", population, least=1, most=2**31 - 2),
        group_names=_check_names(group_names, groups),
        score_edges=_check_edges(score_edges, c_max),
    )


def _check_names(names: Any, groups: int) -> tuple[str, ...]:
    known = tuple(names)
    if known and (len(known) != groups or not all(isinstance(name, str) for name in known)):
        raise ValueError(f"group_names must be {groups} names, one a group, got {names!r}")
    if len(set(known)) < len(known):
        raise ValueError(f"group_names must differ, got {names!r}; tables could not tell them apart")
    return known


def _check_edges(edges: Any, c_max: int) -> tuple[float, ...]:
    if len(edges) == 0:
        return ()
    known = check_array("score_edges", edges, ndim=(1,))
    check_shape("score_edges", known, (c_max + 1,), "one more than scores")
    if (np.diff(known) < 0).any():
        raise ValueError(f"score_edges must rise, got {known.tolist()}; sort them")
    return tuple(known.tolist())


def _initial_table(initial: Any, groups: int | None, c_max: int | None) -> np.ndarray:
    if groups is not None:
        check_int("groups", groups, least=1)
    if c_max is not None:
        check_int("c_max", c_max, least=1)
    if initial is not None:
        table = check_distribution("initial", initial, ndim=(2,))
        wanted = (groups or table.shape[0], c_max or table.shape[1])
        check_shape("initial", table, wanted, "groups x scores; leave groups and c_max out to follow it")
        return table
    if groups in (None, 2) and c_max in (None, 7):
        return np.asarray(INITIAL, dtype=np.float64)
    return spread_groups(groups or 2, c_max or 7)


def spread_groups(groups: int, c_max: int) -> np.ndarray:
    """Groups of evenly falling advantage: discretised normals, means 5.0 to 1.75 and sd 1.375 on 0..6.

    The paper gives no distributions for its 10 groups; these come closest to its table.
    """
    scale = (c_max - 1) / 6 if c_max > 1 else 1.0
    means = np.linspace(5.0, 1.75, groups)[:, None] * scale
    density = np.exp(-0.5 * ((np.arange(c_max) - means) / (1.375 * scale)) ** 2)
    return density / density.sum(-1, keepdims=True)


def reset(key: Key[Array, ""], params: Params) -> State:
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
    return describe(state.people[state.applicant], params)


def decide(
    person: Float[Array, "... 6"], action: Int[Array, "..."], u: Float[Array, "..."], params: Params
) -> tuple[Float[Array, "... 6"], Float[Array, "..."], Bool[Array, "..."]]:
    """The person after the decision, the bank's reward, and whether the person would repay."""
    group, score = person[..., GROUP].astype(jnp.int32), person[..., TRUE]
    chance = params.repayment[group, score.astype(jnp.int32)]
    if params.conscientiousness is not None:
        chance = jnp.clip((chance + person[..., CONSCIENTIOUSNESS]) / 2, 0, 1)
    would_repay = u < chance
    accepted = action == 1
    repaid, defaulted = accepted & would_repay, accepted & ~would_repay
    top = params.num_scores - 1
    seen_up, seen_down = params.omega[group, 0], params.omega[group, 1]
    moved = [
        jnp.clip(score + repaid * params.score_up - defaulted * params.score_down, 0, top),
        jnp.clip(person[..., OBSERVED] + repaid * seen_up - defaulted * seen_down, 0, top),
        person[..., REPAID] + repaid,
        person[..., DEFAULTED] + defaulted,
        person[..., GROUP],
        person[..., CONSCIENTIOUSNESS],
    ]
    reward = repaid * params.reward_repaid + defaulted * params.reward_default
    return jnp.stack(moved, -1), reward, would_repay


def describe(person: Float[Array, "... 6"], params: Params) -> Float[Array, "... D"]:
    """Observed score in 0..1, group one-hot, shares of the person's loans repaid and defaulted."""
    seen = score_and_group(person[..., OBSERVED], person[..., GROUP], params)
    past = jnp.maximum(person[..., REPAID] + person[..., DEFAULTED], 1)
    ratios = person[..., REPAID : DEFAULTED + 1] / past[..., None]
    return jnp.concatenate([seen, ratios], -1)


def crowd(state: State) -> Crowd:
    people = state.people
    return Crowd(people[..., GROUP].astype(jnp.int32), people[..., TRUE], people[..., OBSERVED])


Act = Callable[[Key[Array, ""], Float[Array, "B D"]], Int[Array, "B"]]
_WAVE = 512  # decisions side by side: many enough to amortise a loop turn, few enough to waste little


class Visits(eqx.Module):
    """All that is random in an episode but the policy: who is there, who comes when, who would repay."""

    people: Float[Array, "N 6"]
    visitor: Int[Array, "T"]
    order: Int[Array, "T"]  # visits, all first ones before all second ones and so on
    rank: Int[Array, "T"]  # how often the visitor has come before
    u: Float[Array, "T"]
    key: Key[Array, ""]  # for the policy


def plan(key: Key[Array, ""], params: Params, horizon: int) -> Visits:
    """Draw an episode's visits; they depend neither on the policy nor on omega."""
    k_reset, k_visit, k_outcome, k_act = jax.random.split(key, 4)
    visitor = random_index(jax.random.bits(k_visit, (horizon,)), params.population)
    order, rank = _by_visit_number(visitor)
    u = jax.random.uniform(k_outcome, (horizon,))
    return Visits(reset(k_reset, params).people, visitor, order, rank, u, k_act)


def play(visits: Visits, act: Act, params: Params) -> tuple[Decisions, State]:
    """An episode in the same distribution as step by step, hundreds of decisions at a time.

    People do not influence each other, so only the order within one person's visits matters: all first
    visits can be decided side by side, then all second ones, and so on. `act` must not remember anything.
    """
    horizon, outside = visits.visitor.shape[0], params.population
    width = min(horizon, params.population, _WAVE)

    def wave(carry: tuple) -> tuple:
        turn, start, people, before, actions = carry
        places = start + jnp.arange(width)
        visit = visits.order[jnp.minimum(places, horizon - 1)]
        active = (places < horizon) & (visits.rank[visit] == visits.rank[visits.order[start]])
        who = visits.visitor[visit]
        person = people[who]
        action = act(jax.random.fold_in(visits.key, turn), describe(person, params))
        after, _, _ = decide(person, action, visits.u[visit], params)
        people = people.at[jnp.where(active, who, outside)].set(after, mode="drop")
        slot = jnp.where(active, visit, horizon)
        before = before.at[slot].set(person, mode="drop")
        actions = actions.at[slot].set(action, mode="drop")
        return turn + 1, start + active.sum(), people, before, actions

    zero = jnp.int32(0)
    start = (zero, zero, visits.people, jnp.zeros((horizon, 6)), jnp.zeros(horizon, jnp.int32))
    _, _, people, before, action = jax.lax.while_loop(lambda carry: carry[1] < horizon, wave, start)
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


def _by_visit_number(visitor: Int[Array, "T"]) -> tuple[Int[Array, "T"], Int[Array, "T"]]:
    """Visits ordered by how often the person has come before, and that number for each visit."""
    by_person = jnp.argsort(visitor, stable=True)
    place = jnp.arange(visitor.size)
    starts = jnp.where(jnp.diff(visitor[by_person], prepend=-1) != 0, place, 0)
    rank = jnp.zeros_like(place).at[by_person].set(place - jax.lax.cummax(starts))
    return jnp.argsort(rank, stable=True), rank


LENDING = Scenario(
    summary="Loans; repayment depends on the credit score (2 groups)",
    make_params=make_params,
    reset=reset,
    step=step,
    observe=observe,
    crowd=crowd,
    omega_names=("c_plus", "c_minus"),
    omega_bounds=(0.0, 2.0),
    plan=plan,
    play=play,
)
LENDING_CONSCIENTIOUSNESS = dataclasses.replace(
    LENDING,
    summary="Loans; repayment also depends on a hidden conscientiousness (2 groups)",
    make_params=partial(make_params, conscientiousness=(0.55, 0.1)),
)
LENDING_10_GROUPS = dataclasses.replace(
    LENDING,
    summary="Loans; ten groups of evenly falling advantage",
    make_params=partial(make_params, groups=10),
)
