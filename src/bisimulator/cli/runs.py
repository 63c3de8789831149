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
    """The jobs that are kept: list them, show one, check their files, or remove what stopped jobs left.

    Args:
      action: list: all jobs, done, stopped, running or damaged; show: one job's configuration and result; verify:
        compare every file with the checksum of when the job was finished; clean: remove the checkpoints of stopped
        jobs, unfinished files and files that were set aside.
      job: for show: its name, or a part of it that no other has.
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
