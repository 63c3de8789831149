"""What a folder of jobs holds: finished, stopped and running ones, and what can be removed. Reading changes nothing."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from bisimulator import files
from bisimulator.jobs import _checkpoint as checkpoint
from bisimulator.jobs import _lock as locking
from bisimulator.jobs import store
from bisimulator.jobs._lock import Busy, only_one

State = Literal["done", "running", "stopped", "damaged"]
# all that a job may write; nothing else is ever removed
_CONFIG = "config.json"
RESULTS = ("weights.npz", "learned.npz", "outcome.npz", "episodes.csv", "curves.npz", "timing.json")
_READERS: dict[str, Callable[[Path], Any]] = {
    _CONFIG: lambda path: json.loads(path.read_text())["scenario"],
    "outcome.npz": store.read_outcome,
    "learned.npz": files.read_arrays,
    "curves.npz": files.read_arrays,
    "weights.npz": files.read_arrays,
    checkpoint.NAME: checkpoint.read_share,
}


@dataclasses.dataclass(frozen=True)
class Job:
    """A job's folder as it is found."""

    folder: Path
    state: State
    share: float  # of the training that is kept, 0 to 1
    config: dict[str, Any]  # as stored; empty where it cannot be read
    damaged: tuple[str, ...]  # files that cannot be read, and those set aside before
    seconds: float | None
    bytes: int

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}"


def inventory(out: Path) -> list[Job]:
    """All jobs below a folder, by name."""
    found = {path.parent for name in (_CONFIG, store.DONE, checkpoint.NAME) for path in out.rglob(name)}
    return [look(folder) for folder in sorted(found)]


def look(folder: Path, held: bool | None = None) -> Job:
    """`held`: whether another process works on it, where that is known."""
    bad = [name for name, read in _READERS.items() if not files.is_whole(folder / name, read)]
    done, kept = (folder / store.DONE).exists(), folder / checkpoint.NAME
    if done and not (folder / "outcome.npz").exists():
        bad.append("outcome.npz")
    share = 1.0 if done else 0.0
    if not done and kept.exists() and kept.name not in bad:
        share = checkpoint.read_share(kept)
    state: State = "damaged" if bad else "done" if done else "stopped"
    return Job(
        folder=folder,
        state="running" if (locking.is_held(folder) if held is None else held) else state,
        share=share,
        config={} if _CONFIG in bad else _json(folder / _CONFIG),
        damaged=(*bad, *(path.name for path in sorted(folder.glob(f"*{files.ASIDE}")))),
        seconds=_json(folder / "timing.json").get("seconds"),
        bytes=_size(path for path in folder.iterdir() if path.is_file()),
    )


def _json(path: Path) -> dict[str, Any]:
    """Empty where there is nothing to read."""
    readable = path.exists() and files.is_whole(path, lambda p: json.loads(p.read_text()))
    return json.loads(path.read_text()) if readable else {}


def _size(paths: Iterable[Path]) -> int:
    total = 0
    for path in paths:
        with suppress(FileNotFoundError):  # renamed or removed meanwhile
            total += path.stat().st_size
    return total


def leftovers(job: Job, finished_too: bool = False) -> list[Path]:
    """What can go: nothing of a job at work, all of a stopped one, a finished one's results only where asked for."""
    if job.state == "running":
        return []
    folder = job.folder
    found = [*files.temporary(folder), *folder.glob(f"*{files.ASIDE}"), folder / checkpoint.NAME]
    if finished_too or not (folder / store.DONE).exists():
        found += [folder / name for name in (store.DONE, *RESULTS, _CONFIG)]
    return [path for path in found if path.exists()]


def clean(job: Job, finished_too: bool = False) -> tuple[int, int]:
    """Remove the leftovers; returns how many files and bytes. A job that is resumed meanwhile is left alone."""
    try:
        with only_one(job.folder, patience=0):
            paths = leftovers(look(job.folder, held=False), finished_too)
            size = _size(paths)
            for path in paths:
                path.unlink()
    except Busy:
        return 0, 0
    for folder in (job.folder, job.folder.parent):
        if not any(folder.iterdir()):
            folder.rmdir()
    return len(paths), size
