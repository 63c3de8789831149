"""The convention by which an environment tells of groups, and helpers that make any environment follow it.

`info` of a step speaks of the person who was decided on: `group` (from 0), and where the environment knows them
`qualified` and `next_self_observation` (the same person after the decision). `num_groups` is an attribute of the
environment. Optionally it lets its observation parameters be set: see `AdjustableEnv`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import gymnasium
import numpy as np
from gymnasium.vector import VectorWrapper
from numpy.typing import NDArray

from bisimulator.errors import check_int


class GroupEnv(Protocol):
    """What the Bisimulator needs of an environment beside Gymnasium's own interface: this, and `info["group"]`."""

    num_groups: int


@runtime_checkable
class AdjustableEnv(Protocol):
    """What an environment offers that lets its observation dynamics be learned."""

    num_groups: int

    @property
    def observation_params(self) -> NDArray[Any]:
        """omega: by what the groups' observations are changed, a row a group."""

    @property
    def observation_params_bounds(self) -> tuple[Any, Any]:
        """The least and the most that each may be, as numbers or arrays of the shape of omega."""

    def set_observation_params(self, values: Any) -> None:
        """Put omega in force from the next observation on."""


class WithGroups(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An existing environment with the convention's `info`, without a change to it.

    Args:
      group: the group of the person whom this observation shows.
      num_groups: how many groups there are.
      next_self: the same person after the decision, from (observation, action, next observation, info). Where every
        observation shows the same person that is `lambda before, action, after, info: after`.
      qualified: whether accepting that person would have been right, from the same four.
    """

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        group: Callable[[Any], int],
        num_groups: int,
        *,
        next_self: Callable[[Any, Any, Any, dict[str, Any]], Any] | None = None,
        qualified: Callable[[Any, Any, Any, dict[str, Any]], bool] | None = None,
    ):
        super().__init__(env)
        self.num_groups = check_int("num_groups", num_groups, min=2)
        self._group, self._next_self, self._qualified = group, next_self, qualified
        self._before: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._before, info = self.env.reset(seed=seed, options=options)
        return self._before, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        before = self._before
        after, reward, terminated, truncated, info = self.env.step(action)
        info = {**info, "group": int(self._group(before))}
        if self._next_self is not None:
            info["next_self_observation"] = self._next_self(before, action, after, info)
        if self._qualified is not None:
            info["qualified"] = bool(self._qualified(before, action, after, info))
        self._before = after
        return after, reward, terminated, truncated, info


def offered(env: Any, name: str, default: Any = None) -> Any:
    """An attribute of an environment, whatever is wrapped around it; of a vector environment, its first copy's."""
    if isinstance(env, gymnasium.Env):
        return env.get_wrapper_attr(name) if env.has_wrapper_attr(name) else default
    while isinstance(env, VectorWrapper) and not hasattr(env, name):
        env = env.env
    if hasattr(env, name):
        return getattr(env, name)
    copies = getattr(env, "envs", None)
    return offered(copies[0], name, default) if copies else default


def groups_of(info: dict[str, Any], number: int) -> NDArray[np.int64]:
    """Each copy's group in a vector environment's `info`; -1 where nobody was decided on."""
    group = np.full(number, -1, np.int64)
    for source in (
        info,
        info.get("final_info"),
    ):  # a SameStep environment tells of an episode's last step there
        if isinstance(source, dict) and "group" in source:
            present = np.asarray(source.get("_group", np.ones(number, bool)))
            group = np.where(present, np.asarray(source["group"], np.int64), group)
    return group


def missing_group() -> ValueError:
    return ValueError(
        "info has no 'group', so nobody knows whom the decision was about; let the environment put the group of the "
        "person decided on into info['group'], or wrap it: WithGroups(env, group=lambda observation: ..., num_groups=2)"
    )
