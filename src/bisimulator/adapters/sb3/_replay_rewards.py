"""Rewards of a replay buffer that are corrected when they are read, with the current phi and multipliers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import PyTree
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.buffers import BaseBuffer, ReplayBuffer
from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

from bisimulator.adapters._corrections import Corrections
from bisimulator.adapters._decisions import Decisions
from bisimulator.adapters._recent_decisions import StateDict

Place: TypeAlias = int | slice | NDArray[np.integer[Any]] | tuple[Any, ...]  # whatever indexes a NumPy array


class ReplayOutcomes:
    """What the buffer does not store of its decisions: their groups, who was accepted and who was qualified."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.group: NDArray[np.int16] = np.full(shape, -1, np.int16)  # -1: unknown, not corrected
        self.accepted: NDArray[np.float32] | None = (
            None  # the same shape, and one column per kind of acceptance
        )
        self.qualified: NDArray[np.float32] | None = None

    def record(self, place: int, decisions: Decisions) -> None:
        self.group[place] = decisions.group
        if decisions.accepted is not None:
            if self.accepted is None:
                self.accepted = np.zeros((*self.group.shape, *decisions.accepted.shape[1:]), np.float32)
            self.accepted[place] = decisions.accepted
        if decisions.qualified is not None:
            if self.qualified is None:
                self.qualified = np.zeros(self.group.shape, np.float32)
            self.qualified[place] = decisions.qualified

    def state_dict(self) -> StateDict:
        arrays = {"group": self.group, "accepted": self.accepted, "qualified": self.qualified}
        return {f"replay_{name}": array for name, array in arrays.items() if array is not None}

    @classmethod
    def from_state_dict(cls, arrays: Mapping[str, NDArray[Any]]) -> ReplayOutcomes | None:
        """None if there is nothing of a replay buffer in the arrays."""
        if "replay_group" not in arrays:
            return None
        outcomes = cls(arrays["replay_group"].shape)
        outcomes.group = arrays["replay_group"]
        outcomes.accepted, outcomes.qualified = arrays.get("replay_accepted"), arrays.get("replay_qualified")
        return outcomes


class CorrectedRewards:
    """Takes the place of `ReplayBuffer.rewards`: stores original rewards, returns corrected ones.

    So any of Stable-Baselines3's buffers works unchanged, and no correction in it is ever out of date.
    """

    def __init__(
        self, buffer: ReplayBuffer, corrections: Corrections, outcomes: ReplayOutcomes | None = None
    ) -> None:
        self.original: NDArray[np.float32] = buffer.rewards
        if outcomes is None or outcomes.group.shape != self.original.shape:
            outcomes = ReplayOutcomes(self.original.shape)
        self.outcomes, self.buffer, self._corrections = outcomes, buffer, corrections

    def __setitem__(self, place: Place, reward: ArrayLike) -> None:
        self.original[place] = reward

    def __getitem__(self, place: Place) -> NDArray[np.float32]:
        reward, said = np.asarray(self.original[place]), self.outcomes
        axes, size = reward.ndim, reward.size
        decisions = Decisions(
            _at(self.buffer.observations, place, axes),
            self.buffer.actions[place].reshape(size, -1),
            reward.reshape(-1),
            np.asarray(said.group[place], np.int64).reshape(-1),
            None if said.accepted is None else _at(said.accepted, place, axes),
            None if said.qualified is None else _at(said.qualified, place, axes),
        )
        correction = self._corrections.correction(decisions)
        corrected: NDArray[np.float32] = reward + correction.reshape(reward.shape)
        return corrected

    def record(self, decisions: Decisions) -> None:
        """The decisions that the buffer stores next."""
        self.outcomes.record(self.buffer.pos, decisions)

    @property
    def nbytes(self) -> int:
        return self.original.nbytes

    def __reduce__(self) -> Any:
        """A saved buffer holds the original rewards, and nothing of this class."""
        return self.original.__reduce__()


def attach(
    buffer: BaseBuffer | None, corrections: Corrections, outcomes: ReplayOutcomes | None = None
) -> CorrectedRewards:
    """Correct the rewards of a model's replay buffer. `outcomes`: of the decisions that are in it already."""
    if isinstance(buffer, HerReplayBuffer) or not isinstance(buffer, ReplayBuffer):
        raise ValueError(
            f"replay_buffer_class must store rewards as they were given, got {type(buffer).__name__}, which computes "
            "rewards of its own; pass Stable-Baselines3's ReplayBuffer, DictReplayBuffer or NStepReplayBuffer"
        )
    detach(buffer)
    corrected = CorrectedRewards(buffer, corrections, outcomes)
    buffer.rewards = corrected  # type: ignore[assignment]
    return corrected


def detach(buffer: ReplayBuffer) -> None:
    """Put the original rewards back."""
    rewards: object = buffer.rewards
    if isinstance(rewards, CorrectedRewards):
        buffer.rewards = rewards.original


def _at(arrays: PyTree[np.ndarray], place: Place, axes: int) -> PyTree[np.ndarray]:
    """The buffer's observations, or arrays of its shape, at these places: one leading axis instead of `axes`."""
    if isinstance(arrays, dict):
        return {key: _at(value, place, axes) for key, value in arrays.items()}
    chosen = np.asarray(arrays[place])
    return chosen.reshape(-1, *chosen.shape[axes:])
