"""Functions that numba compiles at their first call. Only this module imports numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled, and kept on disk for the next process where any folder can be written."""
    try:
        return njit(cache=True)(function)
    except RuntimeError:  # neither the package nor the user's cache is writable
        return njit(function)
