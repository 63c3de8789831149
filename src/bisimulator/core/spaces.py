"""What an action can be."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray


@dataclasses.dataclass(frozen=True)
class Discrete:
    """One of n actions, numbered from 0."""

    dtype: ClassVar[type[np.int32]] = np.int32  # what environments compute with
    kinds: ClassVar[str] = "iu"  # NumPy's kinds of numbers that can be actions

    n: int
    names: tuple[str, ...] = ()  # for display; empty if they have none

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest action."""
        return 0, self.n - 1

    def contains(self, actions: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows, one entry each, are actions."""
        return np.asarray(((actions >= 0) & (actions < self.n)).all(-1))

    def __str__(self) -> str:
        if self.names:
            return " or ".join(f"{i} ({name})" for i, name in enumerate(self.names))
        return f"a whole number from 0 to {self.n - 1}"


@dataclasses.dataclass(frozen=True)
class MultiDiscrete:
    """Several numbered choices at once: entry i is one of `nvec[i]`, numbered from 0."""

    dtype: ClassVar[type[np.int32]] = np.int32
    kinds: ClassVar[str] = "iu"

    nvec: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.nvec),)

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest entry; other entries may have fewer choices."""
        return 0, max(self.nvec) - 1

    def contains(self, actions: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows are actions."""
        return np.asarray(((actions >= 0) & (actions < np.asarray(self.nvec))).all(-1))

    def __str__(self) -> str:
        return f"an array of {len(self.nvec)} whole numbers, below {', '.join(map(str, self.nvec))}"


@dataclasses.dataclass(frozen=True)
class Box:
    """Real numbers from `low` to `high`."""

    dtype: ClassVar[type[np.float32]] = np.float32
    kinds: ClassVar[str] = "iuf"

    low: float
    high: float
    shape: tuple[int, ...]

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest entry."""
        return self.low, self.high

    def contains(self, actions: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows, of all entries, are actions."""
        return np.asarray(((actions >= self.low) & (actions <= self.high)).all(-1))

    def __str__(self) -> str:
        return f"an array of shape {self.shape} with numbers from {self.low:g} to {self.high:g}"


ActionSpace: TypeAlias = Discrete | MultiDiscrete | Box
