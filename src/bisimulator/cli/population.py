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
    from bisimulator.report.population_tables import show_population

    found = people.read(path)
    show_population(found, people.moves(found) | parse_settings(settings), out, make_console())
