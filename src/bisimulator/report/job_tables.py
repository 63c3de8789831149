"""`bisimulator runs`: what a store holds, one job in full, and what can go."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.prompt import Confirm
from rich.table import Table

from bisimulator.errors import did_you_mean
from bisimulator.jobs.inventory import Job, clean, inventory, leftovers
from bisimulator.jobs.store import load
from bisimulator.report._job_states import clock
from bisimulator.report._table_columns import paper_row
from bisimulator.report.rule_tables import number, plain_table


def list_runs(out: Path, console: Console) -> None:
    jobs = _jobs(out)
    table = plain_table(
        f"Jobs in {escape(str(out))}", ["job", "state"], ["seeds", "steps", "time", "size", "version"]
    )
    for job in jobs:
        known = job.config
        table.add_row(
            job.name,
            _state(job),
            str(len(known["seeds"])) if known else "-",
            f"{known['steps']:,}" if known else "-",
            "-" if job.seconds is None else clock(job.seconds),
            _size(job.bytes),
            known.get("package", "-"),
        )
    counts = Counter(job.state for job in jobs)
    console.print(table, "")
    console.print(", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "nothing yet")


def show_run(out: Path, name: str, console: Console) -> None:
    """Its configuration as stored, and its result beside the paper's."""
    job = _find(_jobs(out), name)
    console.print(
        f"{job.folder}: {_state(job)}, {_size(job.bytes)}", soft_wrap=True, highlight=False, markup=False
    )
    if job.damaged:
        console.print(
            f"Damaged: {', '.join(job.damaged)}; what is needed is computed again at the next start",
            soft_wrap=True,
            highlight=False,
        )
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
    theirs = paper_row(result.spec)
    table = plain_table("Mean, ± half width of the 95% interval over seeds", ["metric"], ["here", "paper"])
    for metric, value in result.summary.items():
        table.add_row(metric, number(*value), number(*theirs[metric]) if metric in theirs else "")
    console.print(table)


def clean_runs(out: Path, console: Console, *, yes: bool, finished_too: bool) -> None:
    """Says what would go, asks on a terminal, and removes nothing without a yes."""
    jobs = _jobs(out)
    going = [(job, paths) for job in jobs if (paths := leftovers(job, finished_too))]
    for job, paths in going:
        names = ", ".join(path.name for path in paths)
        console.print(f"{job.name} ({_state(job)}): {names}", soft_wrap=True, highlight=False, markup=False)
    if not going:
        console.print("Nothing to remove.")
        return
    if not yes and not (console.is_terminal and Confirm.ask("Remove these files?", console=console)):
        console.print("Nothing was removed; add --yes to remove them.")
        return
    removed = [clean(job, finished_too) for job, _ in going]
    files, size = (sum(column) for column in zip(*removed, strict=True))
    console.print(f"Removed {files} files, {_size(size)}.", highlight=False)


def _jobs(out: Path) -> list[Job]:
    if not out.is_dir():
        raise ValueError(f"there is no folder {out}; name the one that was given as --out")
    return inventory(out)


def _find(jobs: list[Job], name: str) -> Job:
    """By its folder's name or by a part of it that only one has."""
    exact = [job for job in jobs if name.rstrip("/") in (job.name, job.folder.name, str(job.folder))]
    found = exact or [job for job in jobs if name in job.name]
    if len(found) > 1:
        raise ValueError(f"{name!r} could be {', '.join(job.name for job in found)}; write more of it")
    if not found:
        raise ValueError(f"there is no job {name!r}.{did_you_mean(name, [job.name for job in jobs])}")
    return found[0]


def _state(job: Job) -> str:
    return f"{job.state} at {job.share:.0%}" if job.state in ("stopped", "running") else job.state


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{count / 1e3:.1f} kB"


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat
