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
    """Summarise a file of people, and write it as settings of lending for other commands: --set @people.json.

    A few seconds for 100,000 people.

    Args:
      path: CSV file with one person per line, or of a table with one group and score per line.
      people: columns of the file, and bins.
      settings: further parameters of lending to store with them, such as reward_default=-4.
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
