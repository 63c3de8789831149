"""The files of a job, and the seal of a finished one: the SHA-256 of each, so that any change is noticed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bisimulator import files
from bisimulator.jobs.spec import VERSION, stored_name

CONFIG, DONE = "config.json", "done"
PARTS = "parts"  # the folder, in a job's, of what other machines have done of it
RESULTS = ("weights.npz", "learned.npz", "outcome.npz", "episodes.csv", "curves.npz", "timing.json")
_JOB_FOLDER = re.compile(
    r".+-[0-9a-f]{10}"
)  # as `Spec.name` ends; others were chosen by `TrainingResult.save`


def seal(folder: Path) -> None:
    """Write the completion marker, after all other files."""
    present = [name for name in (CONFIG, *RESULTS) if (folder / name).exists()]
    files.write_json(
        folder / DONE, {"version": VERSION, "sha256": {name: _digest(folder / name) for name in present}}
    )


def below(out: Path, name: str) -> list[Path]:
    """All files of this name in folders of jobs, without those of parts of a job."""
    return sorted(path for path in out.rglob(name) if PARTS not in path.relative_to(out).parts)


def sealed_version(folder: Path) -> int:
    """Of what jobs mean, as the seal says; 0 if there is no seal, as before there were any."""
    version = _read(folder).get("version")
    return version if isinstance(version, int) else 0


def broken(folder: Path, names: Iterable[str] = (CONFIG, *RESULTS)) -> dict[str, str]:
    """Those files of a finished job that are not as they were sealed -> what is wrong with them.

    Raises:
        OSError: if a file is there but cannot be read now, which says nothing about its content.
    """
    digests = _read(folder).get("sha256")
    if not isinstance(digests, dict):
        return {DONE: "is damaged"}
    wrong = {name: what for name in names if (what := _compare(folder / name, digests.get(name)))}
    if CONFIG not in wrong and _JOB_FOLDER.fullmatch(folder.name) and not is_own(folder):
        wrong[CONFIG] = "belongs to another job"
    if CONFIG not in wrong and (read_config(folder) or {}).get("version") != sealed_version(folder):
        wrong[DONE] = "has another version than config.json"
    return wrong


def is_own(folder: Path) -> bool:
    """Whether a folder's name is the one that its configuration gives it."""
    config = read_config(folder)
    return config is not None and stored_name(config).endswith(f"/{folder.name}")


def read_config(folder: Path) -> dict[str, Any] | None:
    """The stored configuration; None if there is none that is a job's."""
    try:
        config = json.loads((folder / CONFIG).read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    is_job = isinstance(config, dict) and all(isinstance(config.get(k), str) for k in ("scenario", "method"))
    return config if is_job else None


def _read(folder: Path) -> dict[str, Any]:
    """The seal; empty unless it is, byte for byte, as it was written."""
    try:
        content = (folder / DONE).read_bytes()
        found = json.loads(content)
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and files.json_bytes(found) == content else {}


def _compare(path: Path, expected: object) -> str:
    if not path.exists():
        return "" if expected is None else "is missing"
    if expected is None:
        return "was added"
    return "" if _digest(path) == expected else "was altered"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
