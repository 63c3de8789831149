"""The contracts: environment, step and episode.

Everything that crosses `jit`, `vmap` or `scan` is a pytree (`equinox.Module`).
Shapes: N people, T decisions of an episode, G groups, C scores, D observation entries, K omega entries.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Generic, Literal, Protocol, TypeAlias

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree
from typing_extensions import TypeVar

from bisimulator.core.outcome import Tallies
from bisimulator.core.person_chain import PersonChain, Values
from bisimulator.core.spaces import ActionSpace

State: TypeAlias = PyTree  # each environment has its own; only its own functions look inside

# what an episode is: the queue of all applicants, or one person's life
View: TypeAlias = Literal["queue", "life"]

# act(key, observations) -> actions; it works on any leading axes
Act: TypeAlias = Callable[[Key[Array, ""], Float[Array, "... D"]], Int[Array, "..."] | Float[Array, "... A"]]


class Step(eqx.Module):
    """What one decision led to. `group` to `next_self_obs` describe the person who was decided on.

    A decision about all groups at once has `tallies` instead, and nobody was decided on (`group_step`).
    """

    obs: Float[Array, "D"]  # the next applicant's observation
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    group: Int[Array, ""]
    qualified: Bool[Array, ""]  # would repay / would succeed, also when rejected
    cost: Float[Array, ""]  # what the person has paid so far to be seen favourably
    next_self_obs: Float[Array, "D"]  # the same person, after the decision
    tallies: Tallies | None = None  # the names of `Scenario.tallies`


def group_step(
    obs: Float[Array, "D"],
    tallies: Tallies,
    *,
    truncated: Bool[Array, ""],
    terminated: Bool[Array, ""] | None = None,
) -> Step:
    """What a decision about all groups at once led to; the reward is the sum of the groups' rewards."""
    return Step(
        obs=obs,
        reward=tallies["reward"].sum(),
        terminated=jnp.array(False) if terminated is None else terminated,
        truncated=truncated,
        group=jnp.int32(-1),
        qualified=jnp.array(False),
        cost=jnp.float32(0),
        next_self_obs=obs,
        tallies=tallies,
    )


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
    action: Int[Array, "T"] | Float[Array, "T A"]
    reward: Float[Array, "T"]
    group: Int[Array, "T"]
    qualified: Bool[Array, "T"]
    cost: Float[Array, "T"]
    next_self_obs: Float[Array, "T D"]
    valid: Bool[Array, "T"]
    tallies: Tallies | None = None


@dataclasses.dataclass(frozen=True)
class ParallelEpisodes(Generic[P, S]):
    """Capability: whole episodes at once, because people do not influence each other.

    `plan(key, params, horizon)` draws everything that is random except the policy; `play(plan, act, params)` plays it,
    so the same episode can be played again under another policy or another omega.
    """

    plan: Callable[[Key[Array, ""], P, int], PyTree]
    play: Callable[[PyTree, Act, P], tuple[Decisions, S]]


@dataclasses.dataclass(frozen=True)
class PersonModel(Generic[P]):
    """Capability: each person is an independent finite Markov chain, so certificates and frontiers are exact.

    `observations(params, k, groups)`: what the agent sees of every (group, score, loans repaid < k, loans defaulted
    < k) of these groups, provided that observed scores are true ones, which is the case with `true_omega(params)`.
    `has_clock(params)`: observations also have the time, so these are only those at the start of an episode.

    `split_scores(params, initial, edges)`: the same people on a finer scale. Every score is divided into equally many
    parts that repay alike, with distributions `initial` and the bins' `edges`, and a loan moves a person to the same
    part of another score. None if scores cannot be divided.

    `with_repayment(params, rates)`: the same people with other repayment rates, by score or by whole scores that were
    split. None if rates cannot be set.
    """

    chain: Callable[[P], PersonChain]
    observations: Callable[[P, int, Sequence[int]], Float[Array, "g C k k D"]]
    true_omega: Callable[[P], Float[Array, "G K"]]
    has_clock: Callable[[P], bool] = lambda params: False
    split_scores: Callable[[P, Float[Values, "G D"], Sequence[float]], P] | None = None
    with_repayment: Callable[[P, Float[Values, "G c"]], P] | None = None


@dataclasses.dataclass(frozen=True)
class ContactNetwork(Generic[P]):
    """Capability: people in a contact network, of whom each step treats one. Action 0 treats nobody, i the i-th.

    `treatable(observations, params)`: whom a treatment changes.
    """

    contacts: Callable[[P], Float[Array, "N N"]]  # 1 where two people are in contact
    treatable: Callable[[Float[Array, "... D"], P], Bool[Array, "... N"]]


@dataclasses.dataclass(frozen=True)
class Allocation(Generic[P, S]):
    """Capability: each step divides units among the groups.

    `rates(state)` are the true rates of incidents, which only an oracle sees. `action(units, params)` is the action
    that allocates so many units to each group.
    """

    units: Callable[[P], int]  # how many there are in a step
    rates: Callable[[S], Float[Array, "G"]]
    action: Callable[[Int[Array, "... G"], P], Array]


class Round(eqx.Module):
    """What a college knows of a round of applicants once it has decided on them."""

    score: Float[Array, "... N"]  # as they present it
    group: Int[Array, "... N"]
    admitted: Bool[Array, "... N"]
    eligible: Bool[Array, "... N"]  # known of the admitted ones only; False of the others


@dataclasses.dataclass(frozen=True)
class Admissions(Generic[P]):
    """Capability: each step publishes a threshold in [0, 1], to which a round of applicants reacts.

    `last_round(observations, params)`: the last one, of which nobody is admitted before the first step.
    `max_raise(params)`: how far it can be worth to raise a score.
    """

    last_round: Callable[[Float[Array, "... D"], P], Round]
    max_raise: Callable[[P], Float[Array, "G"]]


class SingleDecisions(eqx.Module):
    """Decisions on one group each."""

    obs: Float[
        Array, "... F"
    ]  # begins with a score in 0..1, by which groups are compared, and the group one-hot
    action: Int[Array, "..."]
    reward: Float[Array, "..."]
    group: Int[Array, "..."]


@dataclasses.dataclass(frozen=True)
class GroupDecisions(Generic[P]):
    """Capability: a step about all groups falls apart into K decisions, each on one group.

    `split(observation, action, next observation, tallies, params)` has leading axes (..., K). The rewards add up to the
    reward of the step.
    """

    num_actions: Callable[[P], int]  # of a single decision
    observation_size: Callable[[P], int]  # of a single decision
    split: Callable[[Float[Array, "... D"], Array, Float[Array, "... D"], Tallies, P], SingleDecisions]


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
    action_space: Callable[[P], ActionSpace] | None = None  # None: one of `action_names`
    discrete: bool = True  # actions are numbered; otherwise they are real numbers
    tallies: tuple[str, ...] = ()  # of a step about all groups, with "reward", "supply" and "demand"; else ()
    accepts: Callable[[Int[Array, "..."]], Bool[Array, "..."]] = accepts_positive
    scores_move: bool = False  # decisions change people's true scores
    applicants_pay: bool = False  # people pay to raise their observed scores
    vocabulary: Vocabulary = Vocabulary()
    parallel: ParallelEpisodes[P, S] | None = None
    person_model: PersonModel[P] | None = None
    life: Scenario[P, State] | None = None  # the same decisions; an episode is one person's life
    network: ContactNetwork[P] | None = None
    allocation: Allocation[P, S] | None = None
    admissions: Admissions[P] | None = None
    group_decisions: GroupDecisions[P] | None = None

    @property
    def applicants(self) -> bool:
        """Whether a step decides on one applicant, who has a score, rather than on all groups at once."""
        return not self.tallies

    @property
    def main_rate(self) -> str:
        """The metric by which groups are compared first."""
        return "recall" if self.applicants else "benefit_rate"
