"""`bisimulator runs`: the jobs in a folder, one job in full, and what can be removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.prompt import Confirm
from rich.table import Table

from bisimulator.errors import TOO_LARGE, did_you_mean
from bisimulator.jobs.inventory import Job, clean, inventory, leftovers
from bisimulator.jobs.labels import changes_in_words
from bisimulator.jobs.spec import spec_from_dict
from bisimulator.jobs.store import load
from bisimulator.report._table_columns import paper_row
from bisimulator.report.text import clock, number, plain_table


def list_runs(out: Path, console: Console) -> None:
    """Print all jobs of a folder with their states."""
    jobs = _jobs(out)
    table = plain_table(
        f"Jobs in {escape(str(out))}",
        ["job", "options", "state"],
        ["seeds", "steps", "time", "size", "version"],
    )
    for job in jobs:
        known = job.config
        table.add_row(
            escape(job.name),
            escape(_options(job)),
            _state(job),
            _known(known, "seeds", list, lambda seeds: str(len(seeds))),
            _known(known, "steps", int, "{:,}".format),
            "-" if job.seconds is None else clock(job.seconds),
            _size(job.bytes),
            escape(_known(known, "package", str, str)),
        )
    counts = Counter(job.state for job in jobs)
    console.print(table, "")
    for job in jobs:
        if job.state in ("damaged", "unreadable"):
            _print_damage(job, console)
    console.print(", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no jobs yet")


def _known(config: Mapping[str, Any], key: str, kind: type, write: Callable[[Any], str]) -> str:
    """An entry of a stored configuration, which may be of any version or none."""
    value = config.get(key)
    return write(value) if isinstance(value, kind) else "-"


def _print_damage(job: Job, console: Console) -> None:
    console.print(
        f"{job.folder}: {'; '.join(job.damaged)}. The command that made the job computes it again.",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )


def verify_runs(out: Path, console: Console) -> None:
    """Compare every file of every finished job with its seal, and raise if one differs.

    Raises:
        ValueError: if a job is not as it was sealed.
    """
    jobs = _jobs(out)
    wrong = [job for job in jobs if job.state in ("damaged", "unreadable")]
    for job in wrong:
        _print_damage(job, console)
    if wrong:
        raise ValueError(f"{len(wrong)} of {len(jobs)} jobs in {out} are not as they were written; see above")
    sealed = sum(job.state == "done" for job in jobs)
    console.print(
        f"{sealed} finished jobs in {out}: every file is as it was written", soft_wrap=True, markup=False
    )


def print_certifiable(out: Path, console: Console) -> None:
    """The finished trainings of a folder, as `bisimulator certify` takes them."""
    trained = [job for job in _jobs(out) if job.state == "done" and job.config.get("solver")]
    if not trained:
        console.print(f"There is no finished training in {out}.", soft_wrap=True, markup=False)
        console.print("Train one first, for example: bisimulator train lending ppo --quick", markup=False)
        return
    console.print("Finished trainings; certify one of them:", markup=False)
    for job in trained:
        changes = _options(job)
        note = f"  ({changes})" if changes else ""
        console.print(
            f"  bisimulator certify {job.folder}{note}", soft_wrap=True, markup=False, highlight=False
        )


def _options(job: Job) -> str:
    """What differs from the defaults, in words; nothing for a job of another version."""
    try:
        return changes_in_words(spec_from_dict(job.config))
    except (KeyError, TypeError, ValueError, AttributeError, *TOO_LARGE):
        return ""


def show_run(out: Path, name: str, console: Console) -> None:
    """Print one job: its configuration as stored, and its result with the paper's."""
    job = _find(_jobs(out), name)
    console.print(
        f"{job.folder}: {_state(job)}, {_size(job.bytes)}", soft_wrap=True, highlight=False, markup=False
    )
    if job.damaged:
        _print_damage(job, console)
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    for key, value in _flat(job.config).items():
        table.add_row(key, escape(str(value)))
    console.print(table, "", highlight=False)
    if job.state == "done":
        _show_result(job, console)


def _show_result(job: Job, console: Console) -> None:
    result = load(job.folder)
    if result is None:
        return
    if result.platform:
        console.print(f"Computed on {result.platform}.", soft_wrap=True, highlight=False, markup=False)
    theirs = paper_row(result.spec)
    table = plain_table("Mean, ± half width of the 95% interval over seeds", ["metric"], ["here", "paper"])
    for metric, value in result.summary.items():
        table.add_row(metric, number(*value), number(*theirs[metric]) if metric in theirs else "")
    console.print(table)


def clean_runs(out: Path, console: Console, *, yes: bool, finished_too: bool) -> None:
    """Print what would be removed, ask on a terminal, and remove nothing without a yes."""
    jobs = _jobs(out)
    removable = [(job, paths) for job in jobs if (paths := leftovers(job, finished_too))]
    for job, paths in removable:
        names = ", ".join(path.name for path in paths)
        console.print(f"{job.folder} ({_state(job)}): {names}", soft_wrap=True, highlight=False, markup=False)
    if not removable:
        console.print("Nothing to remove.")
        return
    if not yes and not (console.is_terminal and Confirm.ask("Remove these files?", console=console)):
        console.print("Nothing was removed; add --yes to remove them.")
        return
    removed = [clean(job, out, finished_too) for job, _ in removable]
    files, size = (sum(column) for column in zip(*removed, strict=True))
    console.print(f"Removed {files} files, {_size(size)}.", highlight=False)


def _jobs(out: Path) -> list[Job]:
    if not out.is_dir():
        raise ValueError(f"there is no folder {out}; name the one that was given as --out")
    return inventory(out)


def _find(jobs: list[Job], name: str) -> Job:
    """The job with this name, or the only one whose name contains it."""
    exact = [job for job in jobs if name.rstrip("/") in (job.name, job.folder.name, str(job.folder))]
    matching = exact or [job for job in jobs if name in job.name]
    if len(matching) > 1:
        raise ValueError(f"{name!r} could be {', '.join(job.name for job in matching)}; write more of it")
    if not matching:
        raise ValueError(f"there is no job {name!r}.{did_you_mean(name, [job.name for job in jobs])}")
    return matching[0]


def _state(job: Job) -> str:
    return f"{job.state} at {job.share:.0%}" if job.state in ("stopped", "running") else job.state


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def _flat(config: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in config.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
