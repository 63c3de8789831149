"""Rewards of a replay buffer that are corrected when they are read, with the phi of now."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.buffers import ReplayBuffer
from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

from bisimulator.adapters.corrector import Corrector


class LiveRewards:
    """Takes the place of `ReplayBuffer.rewards`: stores original rewards, gives r + alpha * R_phi.

    So the buffer stays Stable-Baselines3's own, whichever of them it is, and no correction in it can go stale.
    """

    def __init__(self, buffer: ReplayBuffer, corrector: Corrector, group: NDArray[np.int16] | None = None):
        self.original: NDArray[np.float32] = buffer.rewards
        if group is None or group.shape != self.original.shape:
            group = np.full(self.original.shape, -1, np.int16)  # -1: unknown, not corrected
        self.group: NDArray[np.int16] = group
        self._buffer, self._corrector = buffer, corrector

    def __setitem__(self, place: Any, reward: Any) -> None:
        self.original[place] = reward

    def __getitem__(self, place: Any) -> NDArray[np.float32]:
        reward, group = self.original[place], self.group[place]
        observations = _at(self._buffer.observations, place, reward.ndim)
        actions = self._buffer.actions[place].reshape(reward.size, -1)
        return reward + self._corrector.correction(observations, actions, group.reshape(-1)).reshape(
            reward.shape
        )

    @property
    def nbytes(self) -> int:
        return self.original.nbytes

    def __reduce__(self) -> Any:
        """A saved buffer holds the original rewards, and nothing of ours."""
        return self.original.__reduce__()


def attach(buffer: Any, corrector: Corrector, group: NDArray[np.int16] | None = None) -> LiveRewards:
    """Put live rewards into a model's replay buffer, or refuse. `group`: of the decisions that are in it already."""
    if isinstance(buffer, HerReplayBuffer) or not isinstance(buffer, ReplayBuffer):
        raise ValueError(
            f"{type(buffer).__name__} makes up rewards of its own, which cannot be corrected when they are drawn; "
            "use Stable-Baselines3's ReplayBuffer, DictReplayBuffer or NStepReplayBuffer"
        )
    detach(buffer)
    live = LiveRewards(buffer, corrector, group)
    buffer.rewards = live  # type: ignore[assignment]
    return live


def detach(buffer: ReplayBuffer) -> None:
    if isinstance(buffer.rewards, LiveRewards):
        buffer.rewards = buffer.rewards.original


def _at(observations: Any, place: Any, axes: int) -> Any:
    """The buffer's observations at these places, with one leading axis."""
    if isinstance(observations, dict):
        return {key: _at(value, place, axes) for key, value in observations.items()}
    found = observations[place]
    return found.reshape(-1, *found.shape[axes:])
