"""`bisimulator audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from bisimulator.cli._console import make_console
from bisimulator.cli._people_options import People
from bisimulator.cli._settings import Settings, parse_settings


def audit(
    policy: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="POLICY")],
    population: Path | None = None,
    people: Annotated[People, tyro.conf.OmitArgPrefixes] = People(),  # noqa: B008
    scenario: str | None = None,
    settings: Settings = (),
    in_bins: bool = False,
    seed: int | None = None,
    seeds: int = 10,
    episodes: int = 5,
    out: Path = Path("audit"),
) -> None:
    """How a policy treats the groups of a population over the years: a page, its tables, and the short of it here.

    Args:
      policy: thresholds (640, or white=640,others=620), a rule of `bisimulator list`, the folder of a finished job,
        or a function (module:function or file.py:function), which is imported and run.
      population: CSV file of people, one a line, or of a table.
      people: which column is what, and bins.
      scenario: a lending environment of `bisimulator list`, instead of a file.
      settings: parameters of lending, such as reward_default=-4 or horizon=20000.
      in_bins: thresholds count bins from 0, not points.
      seed: whose policy, of a trained job; the first one by default.
      seeds: independent repetitions of the simulation.
      episodes: episodes of each of them.
      out: folder of the page and its tables.
    """
    from bisimulator.audit.analysis import audit as audit_policy
    from bisimulator.audit.audit_output import print_audit, write_audit
    from bisimulator.audit.audited_policy import read_policy
    from bisimulator.core import make

    if population is not None and scenario is not None:
        raise ValueError("pass --population or --scenario, not both")
    env, whose, chosen = None, "those of the job", parse_settings(settings)
    notes: tuple[str, ...] = ()
    if population is not None:
        found = people.read(population)
        env = found.make(**people.moves(found) | chosen)
        whose, notes = f"{found.people.sum():,.0f} of {population.name}", found.notes
    elif scenario is not None:
        env, whose = make(scenario, **chosen), f"those of {scenario}"
    elif chosen:
        raise ValueError("settings need people: --population or --scenario; a finished job has its own")
    audited = read_policy(policy, env, in_bins=in_bins, seed=seed)
    result = audit_policy(audited, people=whose, seeds=seeds, episodes=episodes, notes=notes)
    console = make_console()
    print_audit(result, console)
    written = ", ".join(str(path) for path in write_audit(result, out))
    console.print(f"Written: {written}", soft_wrap=True, markup=False)
