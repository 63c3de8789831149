"""`bisimulator runs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from bisimulator.cli._console import make_console


def runs(
    action: tyro.conf.Positional[Literal["list", "show", "verify", "clean"]],
    job: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="JOB")] = None,
    out: Path = Path("runs"),
    yes: bool = False,
    all: bool = False,
) -> None:
    """List the stored jobs, show one, verify their files, or remove what stopped jobs left behind.

    Seconds.

    Args:
      action: list: all jobs, done, stopped, running or damaged; show: one job's configuration and result; verify:
        compare every file with its checksum; clean: remove the checkpoints of stopped jobs, unfinished files and
        damaged files.
      job: for show: its name, or a unique part of it.
      out: folder of the jobs.
      yes: remove without asking.
      all: remove finished results as well.
    """
    from bisimulator.report import job_tables as view

    if action == "show":
        if job is None:
            raise ValueError("show needs a job's name, as `bisimulator runs list` writes it")
        view.show_run(out, job, make_console())
    elif job is not None:
        raise ValueError(f"{action} takes all jobs of a folder, got {job!r}; name the folder with --out")
    elif action == "list":
        view.list_runs(out, make_console())
    elif action == "verify":
        view.verify_runs(out, make_console())
    else:
        view.clean_runs(out, make_console(), yes=yes, finished_too=all)
