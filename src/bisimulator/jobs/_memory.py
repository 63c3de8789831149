"""The memory of finished jobs."""

from __future__ import annotations

import ctypes
import gc
import os
from contextlib import suppress
from pathlib import Path

import jax

PLENTY = 2**30  # bytes; below this, compiled programs are kept in case that they are needed again


def release(plenty: float = PLENTY) -> None:
    """Give back what finished jobs hold: compiled programs, and memory that the allocator keeps for later.

    Without it each training of a reproduction would leave 100 MB behind.
    """
    if resident() < plenty:
        return
    jax.clear_caches()
    gc.collect()
    with suppress(AttributeError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)


def resident() -> float:
    """Bytes of memory that this process holds; infinite where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("inf")
    return pages * os.sysconf("SC_PAGE_SIZE")
