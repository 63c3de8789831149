"""The contracts: what an environment, one decision, an episode and a metric are.

Everything here is a pytree (`equinox.Module`), so it goes through `jit`, `vmap` and `scan` as it is.
Shapes: N people, T decisions of an episode, G groups, C scores, D observation entries.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt32

from bisimulator import registry
from bisimulator.errors import check_keywords

State = Any  # each environment has its own; only its own functions look inside


class Step(eqx.Module):
    """What one decision led to. `group` to `next_self_obs` speak of the person who was decided on."""

    obs: Float[Array, "D"]  # the next applicant's observation
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    group: Int[Array, ""]
    qualified: Bool[Array, ""]  # would repay / would succeed, also when rejected
    cost: Float[Array, ""]  # what the person has paid so far to be seen favourably
    next_self_obs: Float[Array, "D"]  # the same person, after the decision


class Params(Protocol):
    """What every environment's `Params` offers beside its own fields."""

    population: int
    horizon: Int[Array, ""]
    omega: Float[Array, "G K"]

    @property
    def num_groups(self) -> int: ...
    @property
    def num_scores(self) -> int: ...
    @property
    def observation_size(self) -> int: ...
    @property
    def chance(self) -> Float[Array, "G C"]:
        """Probability of being qualified at each true score, as far as the score alone tells."""

    @property
    def stakes(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The reward of accepting one who is qualified, and one who is not."""


class Crowd(eqx.Module):
    """Everybody at one moment: who they are and how they stand."""

    group: Int[Array, "N"]
    true_score: Float[Array, "N"]
    observed_score: Float[Array, "N"]


class Decisions(eqx.Module):
    """All decisions of an episode in the order of time; `valid` is False after an early end."""

    obs: Float[Array, "T D"]
    action: Int[Array, "T"]
    reward: Float[Array, "T"]
    group: Int[Array, "T"]
    qualified: Bool[Array, "T"]
    cost: Float[Array, "T"]
    next_self_obs: Float[Array, "T D"]
    valid: Bool[Array, "T"]


# What is counted per group, in this order, in the last axis of `Outcome.counts`.
COUNTS = ("applied", "approved", "qualified", "approved_qualified", "reward", "burden", "burdened")


class Outcome(eqx.Module):
    """Per-group results of an episode, from which every metric is computed. Leading axes are free.

    `observed_scores` lies on a grid of `SCORE_GRID` points per score point, because omega need not be whole.
    """

    counts: Float[Array, "... G 7"]
    true_scores: Float[Array, "... G C"]  # people at each score at the end
    observed_scores: Float[Array, "... G B"]
    approvals: Float[Array, "... P G"]  # approvals so far, at P evenly spaced times

    def count(self, name: str) -> Float[Array, "... G"]:
        return self.counts[..., COUNTS.index(name)]

    @property
    def people(self) -> Float[Array, "... G"]:
        return self.true_scores.sum(-1)


SCORE_GRID = 16


@dataclasses.dataclass(frozen=True, eq=False)
class Scenario:
    """What an environment's file registers: pure functions of explicit params and state."""

    summary: str  # one line, shown by `bisimulator list`
    make_params: Callable[..., Any]  # keywords of the user -> checked Params
    reset: Callable[[Key[Array, ""], Any], State]
    step: Callable[[Key[Array, ""], State, Int[Array, ""], Any], tuple[State, Step]]
    observe: Callable[[State, Any], Float[Array, "D"]]
    crowd: Callable[[State], Crowd]
    omega_names: tuple[str, ...]  # what the columns of omega mean
    omega_bounds: tuple[float, float]  # in units of the params' `omega_scale`, which is 1 where there is none
    action_names: tuple[str, ...] = ("reject", "accept")
    # Whole episodes at once where people do not influence each other, or None: step by step. What is random but
    # the policy is drawn by plan(key, params, horizon) and can be played again: play(plan, act, params).
    plan: Callable[..., Any] | None = None
    play: Callable[..., tuple[Decisions, State]] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Env:
    """A scenario with its parameters: the object that every other call takes."""

    name: str
    scenario: Scenario
    params: Any

    def reset(self, key: Key[Array, ""]) -> State:
        return self.scenario.reset(key, self.params)

    def step(self, key: Key[Array, ""], state: State, action: Int[Array, ""]) -> tuple[State, Step]:
        return self.scenario.step(key, state, action, self.params)

    def observe(self, state: State) -> Float[Array, "D"]:
        return self.scenario.observe(state, self.params)

    def with_omega(self, omega: Float[Array, "G K"]) -> Env:
        return dataclasses.replace(self, params=set_omega(self.params, omega))

    @property
    def num_groups(self) -> int:
        return int(self.params.num_groups)

    @property
    def group_names(self) -> tuple[str, ...]:
        """What the groups are called; numbers from 1 where nobody named them."""
        named: tuple[str, ...] = getattr(self.params, "group_names", ())
        return named or tuple(str(g + 1) for g in range(self.num_groups))

    @property
    def omega_bounds(self) -> tuple[float, float]:
        """Within which omega may be learned: wider where scores move by more than one."""
        (low, high), scale = self.scenario.omega_bounds, float(getattr(self.params, "omega_scale", 1.0))
        return low * scale, high * scale

    @property
    def num_actions(self) -> int:
        return len(self.scenario.action_names)

    @property
    def observation_size(self) -> int:
        return int(self.params.observation_size)

    def __repr__(self) -> str:
        p = self.params
        return (
            f"Env({self.name!r}, groups={p.num_groups}, scores={p.num_scores}, "
            f"population={p.population}, horizon={int(p.horizon)})"
        )


def make(name: str, **params: Any) -> Env:
    """The environment `name`; keywords change its parameters, the defaults are the paper's."""
    scenario: Scenario = registry.lookup("environment", name)
    check_keywords(f"environment {name!r}", params, inspect.signature(scenario.make_params).parameters)
    return Env(name, scenario, scenario.make_params(**params))


def set_omega(params: Any, omega: Float[Array, "G K"]) -> Any:
    """The same params with other observation dynamics; works on traced arrays."""
    return eqx.tree_at(lambda p: p.omega, params, omega)


@dataclasses.dataclass(frozen=True, eq=False)
class Metric:
    """A number per group from an episode's `Outcome`, and what is said over groups.

    `by_group` may be None where only a number over groups makes sense. `applies` tells from the
    scenario's omega names whether the metric says anything there.
    """

    name: str
    summary: str
    best: str  # "higher", "lower" or "" where neither is better
    by_group: Callable[[Outcome], Any] | None
    overall: Callable[[Outcome], dict[str, Any]]
    applies: Callable[[Scenario], bool] = lambda scenario: True

    def columns(self, outcome: Outcome) -> dict[str, Any]:
        """`recall_g1`, `recall_g2`, ... and the numbers over groups, each with the leading axes."""
        per_group = {}
        if self.by_group is not None:
            values = self.by_group(outcome)
            per_group = {f"{self.name}_g{g + 1}": values[..., g] for g in range(values.shape[-1])}
        return {**per_group, **self.overall(outcome)}


# Folded into a key it gives one that no split reaches: fold_in(key, i) is split(key, n)[i].
ANOTHER_BRANCH = 2**31 - 1


def uniform(bits: UInt32[Array, "..."]) -> Float[Array, "..."]:
    """Random bits as numbers in [0, 1)."""
    return (bits >> 8).astype(jnp.float32) * jnp.float32(2**-24)


def random_words(key: Key[Array, ""], number: int) -> UInt32[Array, "K"]:
    """Words of random bits, two from each block of the generator, where `jax.random.bits` takes one.

    Random numbers are most of a step's cost. A split key's data are such words, and the key is not used again.
    """
    # other generators' keys are longer and repeat themselves: two words of each
    return jax.random.key_data(jax.random.split(key, -(-number // 2)))[:, :2].reshape(-1)[:number]


@jax.custom_batching.custom_vmap
def read_row(rows: Array, i: Int[Array, ""]) -> Array:
    """`rows[i]`, read once and kept, for a row that is about to be overwritten.

    A plain `rows[i]` of a single copy is fused into each of its uses, also those after the write, and the
    compiler then copies all rows to keep the old one. A read of two rows is not; of several copies' rows neither.
    """
    return rows[jnp.stack([i, i])][0]


@read_row.def_vmap
def _read_rows(size: int, batched: list[bool], rows: Array, i: Int[Array, "..."]) -> tuple[Array, bool]:
    one = (lambda rows, i: rows[i]) if size > 1 and all(batched) else read_row.fun
    return jax.vmap(one, [0 if b else None for b in batched])(rows, i), True


def random_index(bits: UInt32[Array, "..."], n: int | Int[Array, "..."]) -> Int[Array, "..."]:
    """Random bits as an index below n: the high word of bits * n, from 16-bit halves.

    Half the random bits of `jax.random.randint` and a relative bias below n / 2**32.
    """
    low, high, n = bits & 0xFFFF, bits >> 16, jnp.asarray(n).astype(jnp.uint32)
    n_low, n_high = n & 0xFFFF, n >> 16
    middle = high * n_low + (low * n_low >> 16)
    carry = low * n_high + (middle & 0xFFFF)
    return (high * n_high + (middle >> 16) + (carry >> 16)).astype(jnp.int32)


def draw_category(probs: Float[Array, "... K"], u: Float[Array, "..."]) -> Int[Array, "..."]:
    """Category by inverse distribution function; a category of probability 0 is never drawn."""
    cdf = jnp.cumsum(probs, -1)
    cdf = cdf / cdf[..., -1:]
    borders = jnp.broadcast_to(cdf[..., :-1], (*u.shape, probs.shape[-1] - 1))
    return (u[..., None] >= borders).sum(-1)


def score_and_group(
    observed: Float[Array, "..."], group: Float[Array, "..."], params: Any
) -> Float[Array, "... F"]:
    """How every observation begins: the observed score in 0..1, then the group one-hot."""
    score = observed[..., None] / max(params.num_scores - 1, 1)
    one_hot = jax.nn.one_hot(group.astype(jnp.int32), params.num_groups, dtype=jnp.float32)
    return jnp.concatenate([score, one_hot], -1)


def count_row(
    action: Int[Array, "..."],
    qualified: Bool[Array, "..."],
    reward: Float[Array, "..."],
    cost: Float[Array, "..."],
) -> Float[Array, "... 7"]:
    """What one decision adds to its group's counts, in the order of `COUNTS`."""
    approved = action == 1
    burdened = approved & (cost > 0)
    parts = (
        True,
        approved,
        qualified,
        approved & qualified,
        reward,
        jnp.where(burdened, cost, 0.0),
        burdened,
    )
    return jnp.stack([jnp.broadcast_to(jnp.asarray(p, jnp.float32), action.shape) for p in parts], -1)


@partial(jax.jit, static_argnums=(1, 2))
def score_histograms(
    crowd: Crowd, num_groups: int, num_scores: int
) -> tuple[Float[Array, "G C"], Float[Array, "G B"]]:
    """People by group at each true score, and at each observed score on the finer grid.

    An observed score between two grid points is split between them, so whole scores stay exact.
    """
    fine = (num_scores - 1) * SCORE_GRID + 1
    true = jnp.zeros((num_groups, num_scores)).at[crowd.group, crowd.true_score.astype(jnp.int32)].add(1.0)
    place = crowd.observed_score * SCORE_GRID
    below = jnp.clip(jnp.floor(place), 0, max(fine - 2, 0)).astype(jnp.int32)
    above_share = place - below
    observed = jnp.zeros((num_groups, fine)).at[crowd.group, below].add(1 - above_share)
    observed = observed.at[crowd.group, jnp.minimum(below + 1, fine - 1)].add(above_share)
    return true, observed
