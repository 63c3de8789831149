"""Decisions as arrays, from what an environment says in `info` about the people who were decided on.

Shapes: B decisions, K kinds of acceptance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from gymnasium import spaces
from jaxtyping import PyTree
from numpy.typing import ArrayLike, NDArray

from bisimulator.adapters._pytrees import concatenate
from bisimulator.adapters.group_info import Info, missing_group

Floats: TypeAlias = NDArray[np.float32]
Accepted: TypeAlias = Callable[[NDArray[np.generic]], ArrayLike]  # a batch of actions to flags (B,) or (B, K)


class Said(NamedTuple):
    """What `info` says about a step of several environments; None for what it does not say."""

    group: NDArray[np.int64]  # (B,), -1: nobody was decided on
    accepted: Floats | None  # (B,) or (B, K)
    qualified: Floats | None  # (B,)


class Decisions(NamedTuple):
    """A batch of decisions. Observations are nested as Gymnasium nests them, with one leading axis."""

    observations: PyTree[np.ndarray]
    actions: NDArray[np.generic]
    rewards: NDArray[np.floating]  # as the environment gave them
    group: NDArray[np.int64]  # (B,), -1: nobody was decided on
    accepted: Floats | None = None  # (B,) or (B, K)
    qualified: Floats | None = None  # (B,)


def read_infos(infos: Sequence[Info]) -> Said:
    """From one `info` per environment; raises if none of them names a group."""
    if not any("group" in info for info in infos):
        raise missing_group()
    group = np.array([info.get("group", -1) for info in infos], np.int64)
    return Said(group, _column(infos, "accepted"), _column(infos, "qualified"))


def read_vector_info(info: Info, num_envs: int) -> Said:
    """From the `info` of a vector environment; nobody was decided on where it says nothing."""
    group, accepted, qualified = (
        _vector_column(info, name, num_envs) for name in ("group", "accepted", "qualified")
    )
    known = np.full(num_envs, -1, np.int64) if group is None else group
    return Said(known.astype(np.int64), _floats(accepted), _floats(qualified))


def join(batches: Sequence[Decisions]) -> Decisions:
    """Several batches as one."""
    observations, *columns = zip(*batches, strict=True)
    joined: list[Any] = [None if column[0] is None else np.concatenate(column) for column in columns]
    return Decisions(concatenate(observations), *joined)


class Acceptance:
    """Which decisions accept: a function of the actions says so, or the environment, or all actions but the first do.

    Args:
        action_space: of a single environment.
        function: from a batch of actions to flags or shares, one per decision, or one column per kind of acceptance.
    """

    def __init__(self, action_space: spaces.Space[object], function: Accepted | None = None) -> None:
        self._space, self._function = action_space, function

    def __call__(self, actions: NDArray[np.generic], said: Floats | None) -> Floats | None:
        """One column per kind of acceptance; None if nobody says which of the continuous actions accept."""
        if self._function is not None:
            return self._checked(self._function(actions), len(actions))
        if said is not None:
            return said
        if isinstance(self._space, spaces.Box):
            return None
        start = self._space.start if isinstance(self._space, spaces.Discrete | spaces.MultiDiscrete) else 0
        above = actions.reshape(len(actions), -1) > np.reshape(start, (1, -1))
        return np.asarray(above.any(-1), np.float32)

    def _checked(self, values: ArrayLike, number: int) -> Floats:
        flags = np.asarray(values, np.float32)
        if flags.shape[:1] != (number,) or flags.ndim > 2:
            raise ValueError(
                f"accepted must return one flag for each of {number} actions, got shape {flags.shape}; actions have a "
                "leading axis: pass accepted=lambda actions: actions > 0, for example"
            )
        return flags


def _column(infos: Sequence[Info], name: str) -> Floats | None:
    said = [info[name] for info in infos if name in info]
    if not said:
        return None
    nothing = np.zeros_like(np.asarray(said[0], np.float32))
    return np.array([info.get(name, nothing) for info in infos], np.float32)


def _vector_column(info: Info, name: str, num_envs: int) -> NDArray[np.generic] | None:
    column = None
    # the last step of an episode is in `final_info` if the environment resets in the same step
    for source in (info, info.get("final_info")):
        if isinstance(source, dict) and name in source:
            values = _regular(np.asarray(source[name]))
            present = np.asarray(source.get(f"_{name}", np.ones(num_envs, bool)))
            if column is None:
                column = np.full(values.shape, -1 if name == "group" else 0, values.dtype)
            column = np.where(present.reshape(-1, *[1] * (values.ndim - 1)), values, column)
    return column


def _regular(values: NDArray[Any]) -> NDArray[Any]:
    """Gymnasium keeps tuples as objects, and None for environments that say nothing."""
    if values.dtype != object:
        return values
    said = next(value for value in values if value is not None)
    return np.array([np.zeros_like(said, float) if value is None else value for value in values])


def _floats(values: NDArray[np.generic] | None) -> Floats | None:
    return None if values is None else values.astype(np.float32)
