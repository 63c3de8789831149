"""A ring buffer of the most recent decisions, whose arrays never change their shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

StateDict: TypeAlias = dict[str, NDArray[np.generic]]


class RecentDecisions:
    """The last `capacity` decisions, as encoded rows of `size` entries."""

    def __init__(self, capacity: int, size: int) -> None:
        self.capacity = capacity
        self.recorded = 0  # how many decisions were ever added
        self.rows = np.zeros((capacity, size), np.float32)
        self.action = np.zeros(capacity, np.int32)
        self.reward = np.zeros(capacity, np.float32)
        self.group = np.zeros(capacity, np.int32)

    @property
    def is_full(self) -> bool:
        return self.recorded >= self.capacity

    def add(
        self,
        rows: NDArray[np.float32],
        action: NDArray[np.int32],
        reward: NDArray[np.float32],
        group: NDArray[np.int64],
    ) -> None:
        for start in range(0, len(rows), self.capacity):
            chunk = slice(start, start + self.capacity)
            place = (self.recorded + np.arange(len(rows[chunk]))) % self.capacity
            self.rows[place], self.action[place] = rows[chunk], action[chunk]
            self.reward[place], self.group[place] = reward[chunk], group[chunk]
            self.recorded += len(place)

    def state_dict(self) -> StateDict:
        arrays = {"rows": self.rows, "action": self.action, "reward": self.reward, "group": self.group}
        return {"recorded": np.array(self.recorded), **arrays}

    def load_state_dict(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.recorded = int(arrays["recorded"])
        self.rows, self.action = arrays["rows"].copy(), arrays["action"].copy()
        self.reward, self.group = arrays["reward"].copy(), arrays["group"].copy()
