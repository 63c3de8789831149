"""Everything that a stopped job needs to resume as if nothing had happened, in one file."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from bisimulator import files
from bisimulator.solvers._shards import Shards

NAME = "checkpoint.npz"
_TRAINING, _CURVE = "training/", "curve/"


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    training: Shards
    rows: dict[str, np.ndarray]  # of the learning curve so far
    seconds: float  # spent so far
    updates: int  # of the whole training

    def write(self, path: Path) -> None:
        arrays = {_TRAINING + name: array for name, array in files.tree_arrays(self.training).items()}
        arrays |= {_CURVE + name: array for name, array in self.rows.items()}
        done = np.array([int(self.training[0].update), self.updates])
        files.write_arrays(path, {**arrays, "seconds": np.float64(self.seconds), "done": done})


def read_checkpoint(path: Path, like: Any) -> Checkpoint:
    """`like`: a training of the same shapes."""
    arrays = files.read_arrays(path)
    training = files.tree_from_arrays(_below(_TRAINING, arrays), like)
    return Checkpoint(training, _below(_CURVE, arrays), float(arrays["seconds"]), int(arrays["done"][1]))


def read_share(path: Path) -> float:
    """How much of the training is done, 0 to 1."""
    done, updates = files.read_arrays(path, ["done"])["done"]
    return float(done / updates)


def _below(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): x for name, x in arrays.items() if name.startswith(prefix)}
