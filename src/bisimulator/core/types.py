"""The contracts of a step, of an environment's parameters and of an episode.

Everything that crosses `jit`, `vmap` or `scan` is a pytree (`equinox.Module`).
Shapes: N people, T decisions of an episode, G groups, C scores, D observation entries, K omega entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, PyTree
from typing_extensions import TypeVar

from bisimulator.core.outcome import Tallies

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
    # the share of the episode that is left before and after the decision, where an episode ends by time
    remaining: Float[Array, "2"] | None = None


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
