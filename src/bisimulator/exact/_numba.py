"""Functions that numba compiles at their first call, and loops on all cores. Only this module imports numba."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")

_WORTH_A_THREAD = 50_000  # small pieces of work; fewer are done before a thread has started


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with numba; the result is cached on disk wherever a folder is writable. It runs without Python's lock."""
    fast: Callable[P, R]
    try:
        fast = njit(cache=True, nogil=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache is writable
        fast = njit(cache=False, nogil=True)(function)
    return fast


def on_all_cores(work: Callable[[int, int], R], items: int, each: int = 1) -> list[R]:
    """`work(first, end)` for ranges that together are all items, side by side; what each returns.

    The work on one item must not depend on the others, so that the number of cores never changes a result. `each`: how
    many small pieces of work an item is.
    """
    cores = os.cpu_count() or 1
    # more ranges than cores, because some take longer
    ranges = min(4 * cores, items, items * each // _WORTH_A_THREAD)
    if ranges < 2:
        return [work(0, items)]
    ends = [items * i // ranges for i in range(ranges + 1)]
    with ThreadPoolExecutor(cores) as threads:
        return list(threads.map(work, ends[:-1], ends[1:]))
