"""A training is split into shards of one seed each, which run side by side, one per core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol, TypeAlias, TypeVar

import jax

from bisimulator.solvers.solver import TrainingState

Shards: TypeAlias = tuple[TrainingState, ...]

A = TypeVar("A")
B = TypeVar("B")


class MapShards(Protocol):
    def __call__(self, f: Callable[[A], B], shards: Iterable[A]) -> tuple[B, ...]: ...


def shard_seeds(seeds: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The seeds of each shard: one, so that its numbers depend neither on the other seeds nor on the machine."""
    return [(seed,) for seed in seeds]


def available_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


@contextmanager
def on_all_cores() -> Iterator[MapShards]:
    """A map over shards in threads: one compiled loop of small steps keeps one core busy, not more."""
    with ThreadPoolExecutor(available_cores()) as threads:

        def map_shards(f: Callable[[A], B], shards: Iterable[A]) -> tuple[B, ...]:
            return tuple(threads.map(lambda shard: jax.block_until_ready(f(shard)), shards))

        yield map_shards
