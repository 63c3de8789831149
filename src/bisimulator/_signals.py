"""Ctrl-C and SIGTERM, which asks for the same: remembered from the first moment on.

A KeyboardInterrupt that is raised in the middle of an import or a compilation may get lost there.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOPS = (signal.SIGINT, signal.SIGTERM)
stopped = threading.Event()  # set by the first of them; whoever works on looks at it


@contextmanager
def noticing_stops() -> Iterator[None]:
    """Raise KeyboardInterrupt at either signal, and remember it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stopped.clear()
    before = {number: signal.signal(number, _stop) for number in STOPS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stopped.clear()


def _stop(number: int, frame: FrameType | None) -> None:
    stopped.set()
    raise KeyboardInterrupt
