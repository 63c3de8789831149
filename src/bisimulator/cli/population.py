"""`bisimulator population`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from bisimulator.cli._console import make_console
from bisimulator.cli._people_options import People
from bisimulator.cli._settings import Settings, parse_settings


def population(
    path: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FILE")],
    people: Annotated[People, tyro.conf.OmitArgPrefixes] = People(),  # noqa: B008
    settings: Settings = (),
    out: Path | None = None,
) -> None:
    """What a file of people says, and the same as settings of lending for every other command: --set @people.json.

    Args:
      path: CSV file of records, a person a line, or of a table, a group and score a line.
      people: which column is what, and bins.
      settings: further parameters of lending to keep with them, such as reward_default=-4.
      out: file of the settings, such as people.json.
    """
    from bisimulator import files
    from bisimulator.report.population_tables import print_population

    read, console = people.read(path), make_console()
    parameters = people.moves(read) | parse_settings(settings)
    print_population(read, parameters, console)
    if out is not None:
        files.write_json(out, read.params(**parameters))
        usage = f"bisimulator compare lending --set @{out}"
        console.print(f"Written: {out}. Use it as: {usage}", soft_wrap=True, markup=False)
