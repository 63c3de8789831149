"""What an action can be."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, TypeAlias

import numpy as np


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

    def __str__(self) -> str:
        if self.names:
            return " or ".join(f"{i} ({name})" for i, name in enumerate(self.names))
        return f"a whole number from 0 to {self.n - 1}"


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

    def __str__(self) -> str:
        return f"an array of shape {self.shape} with numbers from {self.low:g} to {self.high:g}"


ActionSpace: TypeAlias = Discrete | Box
