"""A file that is whole or not there: written under another name and renamed."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

TEMPORARY = ".unfinished-"  # how the names begin of files that are not finished


def replace(path: Path, content: bytes) -> None:
    """All of it or, whatever happens, what was there before."""
    # not mkstemp, whose files only their owner may read
    temporary = path.with_name(f"{TEMPORARY}{path.name}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)  # so that the new name outlives a loss of power as well
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
