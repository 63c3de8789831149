"""What a folder of jobs holds: finished, stopped and running ones, and what can be removed. Reading changes nothing."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from bisimulator import files
from bisimulator.jobs import _checkpoint as checkpoint
from bisimulator.jobs import _lock as locking
from bisimulator.jobs._lock import Busy, only_one
from bisimulator.jobs.seal import CONFIG, DONE, PARTS, RESULTS, below, broken, is_own, read_config

State = Literal["done", "running", "stopped", "damaged", "unreadable"]
# all that a job may write; nothing else is ever removed
_OWN_FILES = (CONFIG, DONE, *RESULTS, checkpoint.NAME, locking.NAME)
_JOB_FOLDER = re.compile(r"[\w.-]+-[0-9a-f]{10}")


@dataclasses.dataclass(frozen=True)
class Job:
    """A job's folder as it is found."""

    folder: Path
    state: State
    share: float  # of the training that is kept, 0 to 1
    config: dict[str, Any]  # as stored; empty where it cannot be read
    damaged: tuple[str, ...]  # what is wrong with its files, and those set aside before
    seconds: float | None
    bytes: int

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"


def inventory(out: Path) -> list[Job]:
    """All jobs below a folder, by name; folders of other programs are not among them."""
    found = {path.parent for name in (CONFIG, DONE, checkpoint.NAME) for path in below(out, name)}
    return [look(folder) for folder in sorted(found) if _is_job(folder)]


def _is_job(folder: Path) -> bool:
    """By its name, or by a configuration like a job's."""
    if _JOB_FOLDER.fullmatch(folder.name):
        return True
    with suppress(OSError):
        return read_config(folder) is not None
    return False


def look(folder: Path, held: bool | None = None) -> Job:
    """`held`: whether another process works on it, where that is known."""
    done, share, config, seconds, state = False, 0.0, {}, None, "unreadable"
    try:
        done = (folder / DONE).is_file()
        wrong = _wrong(folder, done)
        share = 1.0 if done else _share(folder / checkpoint.NAME, wrong)
        config, seconds = read_config(folder) or {}, _seconds(folder / "timing.json")
        state = "damaged" if wrong else "done" if done else "stopped"
    except OSError as error:
        wrong = {Path(error.filename or folder).name: f"cannot be read ({error.strerror})"}
    with suppress(OSError):
        if locking.is_held(folder) if held is None else held:
            state = "running"
    contents = _contents(folder)
    return Job(
        folder=folder,
        state=state,  # type: ignore[arg-type]
        share=share,
        config=config,
        damaged=(
            *(f"{name} {what}" for name, what in wrong.items()),
            *(path.name for path in contents if path.name.endswith(files.ASIDE)),
        ),
        seconds=seconds,
        bytes=_size(contents),
    )


def _wrong(folder: Path, done: bool) -> dict[str, str]:
    """File -> what is wrong with it."""
    if done:
        return broken(folder)
    wrong = {} if read_config(folder) is not None else {CONFIG: "is missing or damaged"}
    if not files.is_whole(folder / checkpoint.NAME, checkpoint.read_share):
        wrong[checkpoint.NAME] = "is damaged"
    return wrong


def _share(kept: Path, wrong: dict[str, str]) -> float:
    return checkpoint.read_share(kept) if kept.exists() and kept.name not in wrong else 0.0


def _read_json(path: Path) -> None:
    json.loads(path.read_bytes())


def _seconds(path: Path) -> float | None:
    try:
        return float(json.loads(path.read_bytes())["seconds"])
    except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _contents(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(folder.iterdir())
    return []


def _size(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        with suppress(OSError):  # renamed or removed meanwhile
            total += path.lstat().st_size
    return total


def leftovers(job: Job, finished_too: bool = False) -> list[Path]:
    """What can go: nothing of a job at work, all of a stopped one, a finished one's results only where asked for.

    Nothing of a folder that is not proven to be a job's.
    """
    if job.state in ("running", "unreadable") or not _is_removable(job.folder):
        return []
    names = [checkpoint.NAME, locking.NAME]
    if finished_too or not (job.folder / DONE).exists():
        names += [DONE, *RESULTS, CONFIG]
    return [path for path in _contents(job.folder) if path.name in names or _is_remainder(path)]


def _is_removable(folder: Path) -> bool:
    """Its name is the one that its configuration gives it; or the configuration is lost and all files are a job's.

    A configuration that can be read but is not a job's belongs to another program.
    """
    if folder.is_symlink() or not _JOB_FOLDER.fullmatch(folder.name):
        return False
    if files.is_whole(folder / CONFIG, _read_json) and (folder / CONFIG).exists():
        return is_own(folder)
    return all(path.name in _OWN_FILES or _is_remainder(path) for path in _contents(folder))


def _is_remainder(path: Path) -> bool:
    """Half written, or set aside."""
    own = path.name.removesuffix(files.ASIDE)
    return path.name.startswith(files.TEMPORARY) or (own != path.name and own in _OWN_FILES)


def clean(job: Job, out: Path, finished_too: bool = False) -> tuple[int, int]:
    """Remove the leftovers; returns how many files and bytes. A job that is resumed meanwhile is left alone.

    Emptied folders below `out` go too.
    """
    try:
        with only_one(job.folder, patience=0):
            paths = [
                p for p in leftovers(look(job.folder, held=False), finished_too) if p.name != locking.NAME
            ]
            size = _size(paths)
            for path in paths:
                path.unlink()
    except Busy:
        return 0, 0
    count, parts = len(paths), job.folder / PARTS
    for part in inventory(parts) if paths else []:
        removed, freed = clean(part, parts, finished_too=True)
        count, size = count + removed, size + freed
    for folder in (parts, job.folder, job.folder.parent):
        inside = out.resolve() in folder.resolve().parents
        if inside and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    return count, size
