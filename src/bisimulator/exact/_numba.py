"""Functions that numba compiles at their first call. Only this module imports numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile with numba; the result is cached on disk wherever a folder is writable."""
    fast: Callable[P, R]
    try:
        fast = njit(cache=True)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache is writable
        fast = njit(cache=False)(function)
    return fast
