"""The contract of an environment: what its file registers."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Generic

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from bisimulator.core.capabilities import (
    Admissions,
    Allocation,
    ContactNetwork,
    GroupDecisions,
    ParallelEpisodes,
    PersonModel,
)
from bisimulator.core.spaces import ActionSpace
from bisimulator.core.types import P, S, Snapshot, State, Step


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
    discrete: bool = True  # an action is one numbered choice; otherwise several, or real numbers
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
