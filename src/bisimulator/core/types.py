"""The contracts: environment, step, episode, outcome and metric.

Everything that crosses `jit`, `vmap` or `scan` is a pytree (`equinox.Module`).
Shapes: N people, T decisions of an episode, G groups, C scores, D observation entries, K omega entries.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Generic, Literal, Protocol, TypeAlias

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, PyTree
from numpy.typing import NDArray
from typing_extensions import TypeVar

State: TypeAlias = PyTree  # each environment has its own; only its own functions look inside
Values: TypeAlias = NDArray[np.float64]

# what an episode is: the queue of all applicants, or one person's life
View: TypeAlias = Literal["queue", "life"]

# act(key, observations) -> actions; it works on any leading axes
Act: TypeAlias = Callable[[Key[Array, ""], Float[Array, "... D"]], Int[Array, "..."]]


class Step(eqx.Module):
    """What one decision led to. `group` to `next_self_obs` describe the person who was decided on."""

    obs: Float[Array, "D"]  # the next applicant's observation
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    group: Int[Array, ""]
    qualified: Bool[Array, ""]  # would repay / would succeed, also when rejected
    cost: Float[Array, ""]  # what the person has paid so far to be seen favourably
    next_self_obs: Float[Array, "D"]  # the same person, after the decision


class Params(Protocol):
    """What the library reads of every environment's parameters. Each environment adds its own fields."""

    @property
    def population(self) -> int: ...
    @property
    def horizon(self) -> Int[Array, ""]: ...
    @property
    def omega(self) -> Float[Array, "G K"]:
        """Observation dynamics: how the agent's view of each group differs from the truth."""

    @property
    def omega_scale(self) -> float:
        """The unit of the scenario's `omega_bounds`."""

    @property
    def group_probs(self) -> Float[Array, "G"]: ...
    @property
    def group_names(self) -> tuple[str, ...]:
        """For display; empty if nobody named them."""

    @property
    def score_edges(self) -> tuple[float, ...]:
        """If scores are bins of another score: the edges of the bins on its scale."""

    @property
    def num_groups(self) -> int: ...
    @property
    def num_scores(self) -> int: ...
    @property
    def observation_size(self) -> int: ...
    @property
    def qualified_probs(self) -> Float[Array, "G C"]:
        """Probability of being qualified at each true score, given the score alone."""

    @property
    def accept_rewards(self) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The reward for accepting a qualified person, and an unqualified one."""


P = TypeVar("P", bound=Params, default=Params)
S = TypeVar("S", default=State)


class Snapshot(eqx.Module):
    """The whole population at one moment."""

    group: Int[Array, "N"]
    true_score: Float[Array, "N"]
    observed_score: Float[Array, "N"]


class Decisions(eqx.Module):
    """All decisions of an episode in time order; `valid` is False after an early end."""

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
SCORE_GRID = 16  # grid points per score point of `Outcome.observed_scores`, because omega need not be whole


class Outcome(eqx.Module):
    """Per-group results of an episode, from which every metric is computed. Leading axes are free."""

    counts: Float[Array, "... G 7"]
    true_scores: Float[Array, "... G C"]  # people at each score at the end
    observed_scores: Float[Array, "... G B"]  # the same on the grid of `SCORE_GRID`
    approvals: Float[Array, "... P G"]  # cumulative approvals at P evenly spaced times

    def count(self, name: str) -> Float[Array, "... G"]:
        return self.counts[..., COUNTS.index(name)]

    @property
    def people(self) -> Float[Array, "... G"]:
        return self.true_scores.sum(-1)


@dataclasses.dataclass(frozen=True)
class ParallelEpisodes(Generic[P, S]):
    """Capability: whole episodes at once, because people do not influence each other.

    `plan(key, params, horizon)` draws everything that is random except the policy; `play(plan, act, params)` plays it,
    so the same episode can be played again under another policy or another omega.
    """

    plan: Callable[[Key[Array, ""], P, int], PyTree]
    play: Callable[[PyTree, Act, P], tuple[Decisions, S]]


@dataclasses.dataclass(frozen=True)
class PersonChain:
    """One person's credit score as a finite Markov chain, in double precision. Shapes: H hidden types of people."""

    initial: Float[Values, "G C"]  # distribution of scores at the start
    repayment: Float[Values, "H G C"]  # probability of repayment at each score
    type_probs: Float[Values, "H"]
    group_sizes: Float[Values, "G"]  # expected number of people
    score_up: int  # how far a repaid loan raises the score
    score_down: int  # how far a default lowers it
    reward_repaid: float
    reward_default: float
    population: int  # each step, one person of these applies
    horizon: int
    num_scores: int

    @property
    def has_hidden_type(self) -> bool:
        return len(self.type_probs) > 1

    @property
    def visit_rate(self) -> float:
        """Probability that a given person applies in a given step."""
        return 1 / self.population

    @property
    def next_scores(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where a repaid loan and a default take each score."""
        scores = np.arange(self.num_scores)
        return np.minimum(scores + self.score_up, scores[-1]), np.maximum(scores - self.score_down, 0)


@dataclasses.dataclass(frozen=True)
class PersonModel(Generic[P]):
    """Capability: each person is an independent finite Markov chain, so certificates and frontiers are exact.

    `observations(params, k)`: what the agent sees of every (group, score, loans repaid < k, loans defaulted < k),
    provided that observed scores are true ones, which is the case with `true_omega(params)`.
    """

    chain: Callable[[P], PersonChain]
    observations: Callable[[P, int], Float[Array, "G C k k D"]]
    true_omega: Callable[[P], Float[Array, "G K"]]


@dataclasses.dataclass(frozen=True)
class Vocabulary:
    """How reports talk about a scenario."""

    qualified: str = "who are qualified"
    accepted: str = "are accepted"
    approvals: str = "approvals"


def accepts_positive(action: Int[Array, "..."]) -> Bool[Array, "..."]:
    """Action 0 rejects, every other action accepts."""
    return jnp.asarray(action) > 0


@dataclasses.dataclass(frozen=True, eq=False)
class Scenario(Generic[P, S]):
    """What an environment's file registers: pure functions of explicit params and state, and its capabilities."""

    summary: str  # one line, shown by `bisimulator list`
    make_params: Callable[..., P]  # the user's keywords -> checked params
    reset: Callable[[Key[Array, ""], P], S]
    step: Callable[[Key[Array, ""], S, Int[Array, ""], P], tuple[S, Step]]
    observe: Callable[[S, P], Float[Array, "D"]]
    snapshot: Callable[[S], Snapshot]
    omega_names: tuple[str, ...]  # what the columns of omega mean
    omega_bounds: tuple[float, float]  # in units of the params' `omega_scale`
    action_names: tuple[str, ...] = ("reject", "accept")
    accepts: Callable[[Int[Array, "..."]], Bool[Array, "..."]] = accepts_positive
    scores_move: bool = False  # decisions change people's true scores
    applicants_pay: bool = False  # people pay to raise their observed scores
    vocabulary: Vocabulary = Vocabulary()
    parallel: ParallelEpisodes[P, S] | None = None
    person_model: PersonModel[P] | None = None
    life: Scenario[P, State] | None = None  # the same decisions; an episode is one person's life


Direction: TypeAlias = Literal["higher", "lower", ""]  # which values are better; "" if neither


@dataclasses.dataclass(frozen=True)
class Column:
    """How a number is presented: in words, which direction is better, and what it can never exceed."""

    title: str
    direction: Direction
    bounds: tuple[float | None, float | None] = (None, None)
    short: str = ""  # for narrow table heads; the title if empty

    @property
    def head(self) -> str:
        return self.short or self.title


@dataclasses.dataclass(frozen=True, eq=False)
class Metric:
    """A number per group from an episode's `Outcome`, and numbers over all groups.

    `by_group` is None if only numbers over groups make sense. `overall` returns one array per name in `over_groups`.
    Columns are called `NAME_g1`, `NAME_g2`, ... and as `over_groups` says.
    """

    name: str
    summary: str
    group: Column | None
    by_group: Callable[[Outcome], Values] | None
    over_groups: Mapping[str, Column]
    overall: Callable[[Outcome], dict[str, Values]]
    applies: Callable[[Scenario], bool] = lambda scenario: True

    def columns(self, outcome: Outcome) -> dict[str, Values]:
        """Every column's values, with the leading axes of the outcome."""
        per_group = {}
        if self.by_group is not None:
            values = self.by_group(outcome)
            per_group = {f"{self.name}_g{g + 1}": values[..., g] for g in range(values.shape[-1])}
        return {**per_group, **self.overall(outcome)}

    def column(self, name: str) -> Column | None:
        """How the column `name` is presented; None if it is not this metric's."""
        if name in self.over_groups:
            return self.over_groups[name]
        number = name.removeprefix(f"{self.name}_g")
        if self.group is None or number == name or not number.isdecimal():
            return None
        short = f"{self.group.head} g{number}"
        return dataclasses.replace(self.group, title=f"{self.group.title}, group {number}", short=short)
