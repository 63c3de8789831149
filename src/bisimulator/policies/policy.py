"""What a policy is: it decides on observations, and it can roll itself out."""

from __future__ import annotations

import abc
from typing import ClassVar, Literal, TypeAlias

import equinox as eqx
from jaxtyping import Array, Float, Key

from bisimulator._html import code_html
from bisimulator.core import Act, Decisions, Env, State
from bisimulator.simulation import episode

# What a decision depends on: group and observed score; the whole observation; also the time; also what has
# happened in the episode. Exact tools work for the first two.
DependsOn: TypeAlias = Literal["score", "observation", "time", "episode"]


class Policy(eqx.Module):
    """Base class of all policies. Subclasses implement `bind`; `evaluate`, `certify` and `audit` call `rollout`.

    Example:
        >>> class AcceptMost(Policy):
        ...     def bind(self, env):
        ...         return lambda key, obs: jax.random.bernoulli(key, 0.9, obs.shape[:-1]).astype(int)
    """

    depends_on: ClassVar[DependsOn] = "observation"

    @abc.abstractmethod
    def bind(self, env: Env) -> Act:
        """The policy for an environment: `act(key, observations) -> actions`, on any leading axes.

        A policy that changes during an episode returns the one it starts with.
        """

    def accept_probability(self, env: Env, obs: Float[Array, "B D"]) -> Float[Array, "B"] | None:
        """`pi(accept | observation)`, or None if it is not known; certificates are exact where it is."""
        return None

    def accept_by_group(self, env: Env, rest: Float[Array, "B R"]) -> Float[Array, "G B"] | None:
        """`pi(accept | group, rest)` for observations without their group one-hot, entries 1 to G.

        None if only whole observations can be asked. Those have a number per group, so that asking about all groups
        takes time that grows with their square.
        """
        return None

    def _repr_html_(self) -> str:
        return code_html(repr(self))

    def rollout(self, env: Env, key: Key[Array, ""], horizon: int) -> tuple[Decisions, State]:
        """One episode of `horizon` decisions: everything that happened, and the final state."""
        return episode(env.scenario, key, self.bind(env), env.params, horizon)
