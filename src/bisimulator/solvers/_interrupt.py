"""Ctrl-C and SIGTERM that wait for the right moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from bisimulator._signals import STOPS, stopped


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """Either signal sets a flag that is looked at between chunks; a second one interrupts at once.

    The flag is set from the beginning if a signal came before and its exception got lost.
    """
    flag = threading.Event()
    if stopped.is_set():
        flag.set()
    if threading.current_thread() is not threading.main_thread():
        yield flag
        return
    before = {number: signal.getsignal(number) for number in STOPS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def note(number: int, frame: FrameType | None) -> None:
        flag.set()
        restore()

    for number in STOPS:
        signal.signal(number, note)
    try:
        yield flag
    finally:
        restore()
