"""Rewards of a replay buffer that are corrected when they are read, with the current phi."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from jaxtyping import PyTree
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.buffers import BaseBuffer, ReplayBuffer
from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

from bisimulator.adapters.corrector import Corrector

Place: TypeAlias = int | slice | NDArray[np.integer[Any]] | tuple[Any, ...]  # whatever indexes a NumPy array


class CorrectedRewards:
    """Takes the place of `ReplayBuffer.rewards`: stores original rewards, returns r + alpha * R_phi.

    So any of Stable-Baselines3's buffers works unchanged, and no correction in it is ever out of date.
    """

    def __init__(
        self, buffer: ReplayBuffer, corrector: Corrector, group: NDArray[np.int16] | None = None
    ) -> None:
        self.original: NDArray[np.float32] = buffer.rewards
        if group is None or group.shape != self.original.shape:
            group = np.full(self.original.shape, -1, np.int16)  # -1: unknown, not corrected
        self.group: NDArray[np.int16] = group
        self.buffer, self._corrector = buffer, corrector

    def __setitem__(self, place: Place, reward: ArrayLike) -> None:
        self.original[place] = reward

    def __getitem__(self, place: Place) -> NDArray[np.float32]:
        reward, group = np.asarray(self.original[place]), np.asarray(self.group[place])
        observations = _observations_at(self.buffer.observations, place, reward.ndim)
        actions = self.buffer.actions[place].reshape(reward.size, -1)
        correction = self._corrector.correction(observations, actions, group.reshape(-1))
        corrected: NDArray[np.float32] = reward + correction.reshape(reward.shape)
        return corrected

    def record_group(self, group: NDArray[np.int64]) -> None:
        """The groups of the decisions that the buffer stores next."""
        self.group[self.buffer.pos] = group

    @property
    def nbytes(self) -> int:
        return self.original.nbytes

    def __reduce__(self) -> Any:
        """A saved buffer holds the original rewards, and nothing of this class."""
        return self.original.__reduce__()


def attach(
    buffer: BaseBuffer | None, corrector: Corrector, group: NDArray[np.int16] | None = None
) -> CorrectedRewards:
    """Correct the rewards of a model's replay buffer. `group`: of the decisions that are in it already."""
    if isinstance(buffer, HerReplayBuffer) or not isinstance(buffer, ReplayBuffer):
        raise ValueError(
            f"replay_buffer_class must store rewards as they were given, got {type(buffer).__name__}, which computes "
            "rewards of its own; pass Stable-Baselines3's ReplayBuffer, DictReplayBuffer or NStepReplayBuffer"
        )
    detach(buffer)
    corrected = CorrectedRewards(buffer, corrector, group)
    buffer.rewards = corrected  # type: ignore[assignment]
    return corrected


def detach(buffer: ReplayBuffer) -> None:
    """Put the original rewards back."""
    rewards: object = buffer.rewards
    if isinstance(rewards, CorrectedRewards):
        buffer.rewards = rewards.original


def _observations_at(observations: PyTree[np.ndarray], place: Place, axes: int) -> PyTree[np.ndarray]:
    """The buffer's observations at these places, with one leading axis instead of `axes`."""
    if isinstance(observations, dict):
        return {key: _observations_at(value, place, axes) for key, value in observations.items()}
    chosen = observations[place]
    return chosen.reshape(-1, *chosen.shape[axes:])
