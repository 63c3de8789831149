"""`bisimulator compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console

from bisimulator.cli._settings import Settings, parse_settings


def compare(
    scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
    methods: Annotated[str | None, tyro.conf.arg(metavar="A,B,C")] = None,
    seeds: int = 10,
    steps: int = 400_000,
    episodes: int = 5,
    greedy: bool = True,
    curve_every: int = 10_000,
    curve_episodes: int = 5,
    settings: Settings = (),
    out: Path = Path("runs"),
) -> None:
    """Several methods on a scenario: the paper's table next to the published numbers.

    Args:
      scenario: an environment of `bisimulator list`.
      methods: comma-separated methods; all by default.
      seeds: independent repetitions, trained together.
      steps: environment steps of training per seed.
      episodes: evaluation episodes per seed.
      greedy: evaluate the most probable action; otherwise sampled, as in training.
      curve_every: steps of training between two evaluations of the learning curve; 0: no curve.
      curve_episodes: episodes per seed of each of them.
      settings: parameters of the scenario, such as population=500.
      out: folder of the results; a job that is there is not run again, one that stopped is resumed.
    """
    from bisimulator import registry
    from bisimulator.report.comparison import show_comparison

    names = list(registry.names("method")) if methods is None else [m.strip() for m in methods.split(",")]
    options = {"seeds": seeds, "steps": steps, "episodes": episodes, "greedy": greedy}
    options |= {"curve_every": curve_every, "curve_episodes": curve_episodes}
    show_comparison(scenario, names, out, Console(), settings=parse_settings(settings), **options)
