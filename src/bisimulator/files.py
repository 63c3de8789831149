"""Files that are complete or absent: written to a temporary name and renamed. No pickle; damage is reported."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
import secrets
import warnings
import zipfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import jax
import numpy as np

from bisimulator._text import printable
from bisimulator.errors import DiskFull

T = TypeVar("T")
TEMPORARY = ".unfinished-"  # how the names of unfinished files begin
ASIDE = ".damaged"  # what is added to the name of a file that is set aside


def write_bytes(path: Path, content: bytes) -> None:
    """All of it or, whatever happens, what was there before."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, content)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFull(
            f"{path} could not be written, the disk is full; what was kept before is whole. "
            "Make room and start the same command again, it goes on from there"
        ) from error


def _replace(path: Path, content: bytes) -> None:
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


def temporary(folder: Path) -> list[Path]:
    """What a kill in the middle of a write left behind, or somebody is writing just now."""
    return sorted(folder.glob(f"{TEMPORARY}*"))


def write_json(path: Path, value: object) -> None:
    write_bytes(path, json_bytes(value))


def json_bytes(value: object) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    write_bytes(path, csv_text(columns, rows).encode())


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    writer.writerows(map(_cell, row) for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    """Text without what a terminal would obey; what a spreadsheet would take for a formula is quoted."""
    if not isinstance(value, str):
        return value
    text = printable(value)
    if text.startswith(("=", "+", "-", "@", "\t")):
        try:
            float(text)  # numbers stay numbers
        except ValueError:
            return f"'{text}"
    return text


def write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    write_bytes(path, buffer.getvalue())


def read_arrays(path: Path, only: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    content = io.BytesIO(path.read_bytes())  # from memory: np.load leaves a damaged file open
    with zipfile.ZipFile(content) as archive:
        damaged = archive.testzip()  # first, because a damaged header may ask for any amount of memory
    if damaged is not None:
        raise zipfile.BadZipFile(f"{damaged} does not match its checksum")
    content.seek(0)
    with np.load(content, allow_pickle=False) as stored:
        return {name: stored[name] for name in only or stored.files}


def tree_arrays(tree: Any) -> dict[str, np.ndarray]:
    """A pytree's leaves in order; random keys as their raw data."""
    return {f"leaf_{i:04d}": np.asarray(_raw(leaf)) for i, leaf in enumerate(jax.tree.leaves(tree))}


def tree_from_arrays(arrays: dict[str, np.ndarray], like: Any) -> Any:
    """The pytree that `tree_arrays` took apart, in the structure, shapes and types of `like`."""
    wanted, structure = jax.tree.flatten(like)
    stored = [arrays[name] for name in sorted(arrays)]
    if len(stored) != len(wanted):
        raise ValueError(f"holds {len(stored)} arrays where {len(wanted)} are expected")
    return jax.tree.unflatten(structure, [_like(x, leaf) for x, leaf in zip(stored, wanted, strict=True)])


def write_tree(path: Path, tree: Any) -> None:
    write_arrays(path, tree_arrays(tree))


def read_tree(path: Path, like: Any) -> Any:
    return tree_from_arrays(read_arrays(path), like)


def _is_key(leaf: Any) -> bool:
    return jax.numpy.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _raw(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _like(stored: np.ndarray, leaf: Any) -> Any:
    array = jax.numpy.asarray(stored)
    restored = jax.random.wrap_key_data(array) if _is_key(leaf) else array
    if restored.shape != leaf.shape or restored.dtype != leaf.dtype:
        raise ValueError(f"holds {restored.dtype}{restored.shape} where {leaf.dtype}{leaf.shape} is expected")
    return restored


def read_or_set_aside(path: Path, read: Callable[[Path], T]) -> T | None:
    """read(path), or None where there is no such file; a damaged one is named, set aside and not used."""
    if not path.exists():
        return None
    try:
        return read(path)
    except Exception as error:
        _raise_unless_damage(error)
        aside = path.with_name(f"{path.name}{ASIDE}")
        with suppress(FileNotFoundError):  # another process was faster
            os.replace(path, aside)
        warnings.warn(
            f"{path} is damaged ({error}); set aside as {aside.name} and computed again", stacklevel=2
        )
        return None


def is_whole(path: Path, read: Callable[[Path], object]) -> bool:
    """Whether read(path) would do; a file that is not there is no damage."""
    try:
        read(path)
    except FileNotFoundError:
        return True
    except Exception as error:
        _raise_unless_damage(error)
        return False
    return True


def _raise_unless_damage(error: Exception) -> None:
    """What the operating system refused, or memory that ran out, says nothing about the content of a file."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno is not None):
        raise error
