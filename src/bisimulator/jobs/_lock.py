"""One process per job: a lock that the operating system releases even if its holder is killed."""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NAME = ".lock"
_SECONDS_BETWEEN_TRIES = 0.5


class Busy(Exception):
    """Another process works on the job."""


@contextmanager
def only_one(folder: Path, patience: float) -> Iterator[None]:
    """Hold the folder; raises `Busy` where another process still holds it after `patience` seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    path, until = folder / NAME, time.monotonic() + patience
    while (handle := _try(path)) is None:
        left = until - time.monotonic()
        if left <= 0:
            raise Busy(f"another process works on {folder}")
        time.sleep(min(_SECONDS_BETWEEN_TRIES, left))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is still held, so that nobody can hold a file without a name
        os.close(handle)


def remove_stale(folder: Path) -> None:
    """Remove the lock that a killed process left behind."""
    if (folder / NAME).exists():
        with suppress(Busy, OSError), only_one(folder, patience=0):
            pass


def is_held(folder: Path) -> bool:
    try:
        handle = os.open(folder / NAME, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _try(path: Path) -> int | None:
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:  # another file would be created or held through it
            raise ValueError(f"{path} is a symbolic link, so it is no lock; remove it") from None
        raise
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.exists() and os.path.samestat(os.stat(path), os.fstat(handle)):
            return handle
    except OSError:
        pass
    os.close(handle)
    return None
