"""The convention by which an environment names groups, and helpers that make any environment follow it.

`info` of a step is about the person who was decided on: `group` (from 0) and, if the environment knows them,
`accepted`, `qualified` and `next_self_observation` (the same person after the decision). The environment has an
attribute `num_groups`. Optionally its observation parameters can be set: see `AdjustableEnv`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, SupportsFloat, TypeAlias, cast, runtime_checkable

import gymnasium
import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import ArrayLike, NDArray

from bisimulator.errors import check_int

Info: TypeAlias = dict[str, Any]  # Gymnasium's own type
Bounds: TypeAlias = tuple[ArrayLike, ArrayLike]
AttributeLookup: TypeAlias = Callable[[str], object]  # the attribute of an environment; None if it has none


class GroupEnv(Protocol):
    """What the Bisimulator needs from an environment in addition to Gymnasium's interface: this and `info["group"]`."""

    num_groups: int


@runtime_checkable
class AdjustableEnv(Protocol):
    """What an environment offers if its observation dynamics can be learned."""

    num_groups: int

    @property
    def observation_params(self) -> NDArray[np.floating[Any]]:
        """omega: what may change about what is observed, one row per group."""

    @property
    def observation_params_bounds(self) -> Bounds:
        """The minimum and the maximum of omega, as numbers or as arrays of its shape."""

    def set_observation_params(self, values: ArrayLike) -> None:
        """Use this omega from the next observation on."""


class WithGroups(gymnasium.Wrapper[ObsType, ActType, ObsType, ActType]):
    """Adds groups to an existing environment, from functions of its observations.

    Args:
        env: the environment.
        group: the group of the person whom an observation shows, from 0.
        num_groups: how many groups there are, at least 2.
        next_self: the same person after the decision, from (observation, action, next observation, info). If every
            observation shows the same person: `lambda before, action, after, info: after`.
        qualified: whether accepting the person would have been right, from the same four.
        accepted: whether the decision accepts the person, from the same four; by default every action but the first.

    Raises:
        ValueError: if `num_groups` is not a whole number of at least 2.

    Example:
        >>> env = WithGroups(gymnasium.make("CartPole-v1"), group=lambda obs: int(obs[0] > 0), num_groups=2)
        >>> obs, info = env.reset(seed=0)
        >>> env.step(1)[4]["group"]
        1
    """

    def __init__(
        self,
        env: gymnasium.Env[ObsType, ActType],
        group: Callable[[ObsType], int],
        num_groups: int,
        *,
        next_self: Callable[[ObsType, ActType, ObsType, Info], ObsType] | None = None,
        qualified: Callable[[ObsType, ActType, ObsType, Info], bool] | None = None,
        accepted: Callable[[ObsType, ActType, ObsType, Info], ArrayLike] | None = None,
    ) -> None:
        super().__init__(env)
        self.num_groups = check_int("num_groups", num_groups, min=2)
        self._group, self._next_self = group, next_self
        self._qualified, self._accepted = qualified, accepted
        self._obs: ObsType | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, Info]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._obs = obs
        return obs, info

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        before = cast("ObsType", self._obs)  # a step before reset() is the environment's to refuse
        after, reward, terminated, truncated, info = self.env.step(action)
        info = {**info, "group": int(self._group(before))}
        if self._next_self is not None:
            info["next_self_observation"] = self._next_self(before, action, after, info)
        if self._qualified is not None:
            info["qualified"] = bool(self._qualified(before, action, after, info))
        if self._accepted is not None:
            info["accepted"] = self._accepted(before, action, after, info)
        self._obs = after
        return after, reward, terminated, truncated, info


class GroupSpec(NamedTuple):
    """What an environment says about its groups."""

    num_groups: int
    group_entries: Sequence[int]  # entries of the flattened observation that encode the group
    omega: ArrayLike | None  # None if it cannot be set
    bounds: Bounds


def group_spec(attribute: AttributeLookup, num_groups: int | None) -> GroupSpec:
    """What an environment says about its groups; `num_groups` is the user's, if given."""
    number = attribute("num_groups") if num_groups is None else num_groups
    if number is None:
        raise ValueError(
            "the environment does not say how many groups there are: it has no attribute num_groups; "
            "pass num_groups=2, for example, or wrap the environment: WithGroups(env, group=..., num_groups=2)"
        )
    entries = cast("Sequence[int] | None", attribute("group_entries"))
    omega = cast("ArrayLike | None", attribute("observation_params"))
    bounds = (0.0, 0.0) if omega is None else attribute("observation_params_bounds")
    return GroupSpec(check_int("num_groups", number, min=2), entries or (), omega, cast("Bounds", bounds))


def env_attribute(
    env: gymnasium.Env[ObsType, ActType] | VectorEnv[ObsType, ActType, Any], name: str
) -> object:
    """An attribute of an environment inside any wrappers; of a vector environment, its first environment's.

    None if it has no such attribute.
    """
    if isinstance(env, gymnasium.Env):
        return env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else None
    while isinstance(env, VectorWrapper) and not hasattr(env, name):
        env = env.env
    if hasattr(env, name):
        return cast("object", getattr(env, name))
    envs = getattr(env, "envs", None)  # of a SyncVectorEnv
    return env_attribute(envs[0], name) if envs else None


def check_groups(group: NDArray[np.int64], num_groups: int) -> None:
    """Raise a ValueError unless every decision is about a group that exists, or about nobody (-1)."""
    if (group >= num_groups).any():
        raise ValueError(
            f"group must be below num_groups = {num_groups}, got {group.max()}; "
            f"count groups from 0, or pass num_groups={group.max() + 1}"
        )


def check_finite(name: str, values: NDArray[np.floating[Any]]) -> None:
    """Raise a ValueError if a number that an environment gave is NaN or infinite."""
    if not np.isfinite(values).all():
        raise ValueError(
            f"{name} must be finite, got NaN or infinity; check where the environment computes them"
        )


def missing_group() -> ValueError:
    return ValueError(
        "info has no 'group', so it is unknown whom the decision was about; set info['group'] = 0, for example, to the "
        "group of the person decided on, or wrap the environment: "
        "WithGroups(env, group=lambda observation: ..., num_groups=2)"
    )
