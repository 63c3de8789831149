"""`bisimulator simulate`."""

from __future__ import annotations

from typing import Annotated

import tyro
from rich.console import Console

from bisimulator.cli._settings import Settings, parse_settings


def simulate(
    scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
    policies: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="POLICY ...")],
    seeds: int = 10,
    episodes: int = 5,
    settings: Settings = (),
    next_to: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="METHOD ...")] = None,
) -> None:
    """Fixed policies on a scenario: results of each group, next to the paper's.

    Args:
      scenario: an environment of `bisimulator list`.
      policies: one or more of accept-all, reject-all, threshold.
      seeds: independent repetitions; the intervals are over them.
      episodes: episodes of each seed.
      settings: parameters of the scenario, such as population=500.
      next_to: published methods to show; all by default.
    """
    if not policies:
        raise ValueError("got no policy; name one or more, such as accept-all threshold")
    from bisimulator.report.rule_tables import show_simulation

    show_simulation(
        scenario,
        policies,
        settings=parse_settings(settings),
        seeds=seeds,
        episodes=episodes,
        next_to=next_to,
        console=Console(),
    )
