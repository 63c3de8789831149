"""Ctrl-C and SIGTERM, which asks for the same: remembered from the first moment on.

A KeyboardInterrupt that is raised in the middle of an import or a compilation may get lost there.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

STOPS = (signal.SIGINT, signal.SIGTERM)
STOPPED = 130  # exit code
stopped = threading.Event()  # set by the first of them; whoever works on looks at it


@contextmanager
def noticing_stops() -> Iterator[None]:
    """Raise KeyboardInterrupt at either signal, and remember it."""
    stopped.clear()
    try:
        with _handling(_stop):
            yield
    finally:
        stopped.clear()


@contextmanager
def leaving_at_stops() -> Iterator[None]:
    """End the process at either signal: while the command line is imported nothing is at work that could be saved."""
    with _handling(_leave):
        yield


@contextmanager
def while_importing() -> Iterator[None]:
    """`leaving_at_stops` if this process is the command line, whose package is imported before its first line runs."""
    if os.path.basename(sys.argv[0] if sys.argv else "") in ("bisimulator", "-m"):
        with leaving_at_stops():
            yield
    else:
        yield


@contextmanager
def _handling(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in STOPS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    stopped.set()
    raise KeyboardInterrupt


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    os.write(2, b"bisimulator: stopped\n")
    os._exit(STOPPED)
