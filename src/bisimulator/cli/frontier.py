"""`bisimulator frontier`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from bisimulator.cli._settings import Settings, parse_settings


def frontier(
    scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
    criterion: Literal["min-recall", "recall-gap", "credit-gap"] = "min-recall",
    levels: tuple[float, ...] | None = None,
    settings: Settings = (),
    runs: Path | None = None,
    figure: Path | None = None,
) -> None:
    """The best return that any policy can have at each level of fairness, and how far each method is from it.

    Args:
      scenario: a lending environment of `bisimulator list`.
      criterion: what is asked of the policy.
      levels: where; evenly spaced by default.
      settings: parameters of the scenario, such as population=500.
      runs: a folder of finished jobs to put beside the published points.
      figure: file of a plot, such as frontier.png.
    """
    from bisimulator.jobs.run import find_runs
    from bisimulator.report.certificates import MethodPoint, show_frontier

    found = [] if runs is None else [r for r in find_runs(runs) if r.spec.scenario == scenario]
    show_frontier(
        scenario,
        criterion=criterion,
        levels=levels,
        settings=parse_settings(settings),
        results=[MethodPoint.from_summary(r.spec.method, r.summary) for r in found],
        figure=figure,
        console=Console(),
    )
