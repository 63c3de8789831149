"""`bisimulator frontier`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from bisimulator.cli._console import make_console
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

    A few seconds; up to a minute with ten groups.

    Args:
      scenario: a lending environment of `bisimulator list`.
      criterion: what is asked of the policy.
      levels: where; evenly spaced by default.
      settings: parameters of the scenario, such as population=500.
      runs: a folder of finished jobs whose points are shown too; those with other settings are left out.
      figure: file of a plot, such as frontier.png.
    """
    from bisimulator.core import make
    from bisimulator.exact.frontier import frontier as best_frontier
    from bisimulator.report.frontiers import draw_frontier, job_points, print_frontier, published_points

    chosen, console = parse_settings(settings), make_console()
    env = make(scenario, **chosen)
    points = [] if chosen else published_points(scenario)
    if runs is not None:
        from bisimulator.jobs.store import find_runs

        if not runs.is_dir():
            raise ValueError(f"there is no folder {runs}; name the one that was given as --out")
        jobs = [r for r in find_runs(runs) if r.spec.scenario == scenario]
        same = [r for r in jobs if r.spec.settings == chosen]
        points = [*job_points(same), *points]
        if len(same) < len(jobs):
            console.print(f"Left out: {len(jobs) - len(same)} jobs with other settings of {scenario}.")
    best = best_frontier(env, criterion, levels)
    print_frontier(best, points, env.group_names, console)
    if figure is not None:
        draw_frontier(best, points).savefig(figure, dpi=150)
        console.print(f"Figure: {figure}", soft_wrap=True, markup=False)
