"""`bisimulator audit`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console

from bisimulator.commands.settings import Settings, parse_settings


def audit(
    policy: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="POLICY")],
    population: Path | None = None,
    scenario: str | None = None,
    group: str = "group",
    score: str = "score",
    repaid: str | None = None,
    defaulted: str | None = None,
    bins: int = 10,
    binning: Literal["equal-width", "quantile"] = "equal-width",
    edges: tuple[float, ...] | None = None,
    up: float | None = None,
    down: float | None = None,
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
      population: CSV file of people, one a line.
      scenario: a lending environment of `bisimulator list` instead.
      group: column of the groups' names.
      score: column of the scores.
      repaid: column that tells whether a loan was repaid (1 or 0, yes or no); `repaid` by default.
      defaulted: column that tells whether it was defaulted on, instead.
      bins: number of bins of scores.
      binning: how they are made.
      edges: the bins' edges, instead.
      up: points by which a repaid loan raises the score; one bin by default.
      down: points by which a default lowers it; one bin by default.
      settings: parameters of lending, such as reward_default=-4 or horizon=20000.
      in_bins: thresholds count bins from 0, not points.
      seed: whose policy, of a trained job; the first one by default.
      seeds: independent repetitions of the simulation.
      episodes: episodes of each of them.
      out: folder of the page and its tables.
    """
    from bisimulator.core import make
    from bisimulator.report.audit.audited import read_policy
    from bisimulator.report.audit.finding import audit as look
    from bisimulator.report.audit.show import show_audit

    chosen, notes = parse_settings(settings), ()
    if population is not None and scenario is not None:
        raise ValueError("pass --population or --scenario, not both")
    env, people = None, "those of the job"
    if population is not None:
        found, notes = (
            _read(population, group, score, repaid, defaulted, bins=bins, binning=binning, edges=edges),
            (),
        )
        notes, people = found.notes, f"{population.name}, {found.people.sum():,.0f} people"
        moves = {"score_up": up, "score_down": down}
        chosen = {
            name: found.bins_of(points) for name, points in moves.items() if points is not None
        } | chosen
        env = found.make(**chosen)
    elif scenario is not None:
        env, people = make(scenario, **chosen), f"the scenario {scenario}"
    audited = read_policy(policy, env, in_bins=in_bins, seed=seed)
    show_audit(look(audited, people=people, seeds=seeds, episodes=episodes, notes=notes), out, Console())


def _read(
    path: Path, group: str, score: str, repaid: str | None, defaulted: str | None, **options: Any
) -> Any:
    from bisimulator.envs.population import Population

    with warnings.catch_warnings():  # they are among the population's notes, which the page shows
        warnings.simplefilter("ignore", UserWarning)
        return Population.from_csv(
            path, group=group, score=score, repaid=repaid, defaulted=defaulted, **options
        )
