"""A training in parts of a few seeds each, which run side by side, one a core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

Parts = tuple[Any, ...]  # the training of a few seeds each
MapParts = Callable[[Callable[[Any], Any], Iterable[Any]], tuple]
_SEEDS_PER_PART = 5


def split(seeds: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The seeds of each part. They do not depend on the machine, so neither do the numbers."""
    count = max(-(-len(seeds) // _SEEDS_PER_PART), min(2, len(seeds)))
    return [tuple(part.tolist()) for part in np.array_split(np.asarray(seeds), count)]


@contextmanager
def on_all_cores() -> Iterator[MapParts]:
    """A map over parts in threads: one compiled loop of small steps keeps one core busy, not more."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        yield lambda f, parts: tuple(threads.map(lambda part: jax.block_until_ready(f(part)), parts))
