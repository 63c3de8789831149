"""`bisimulator frontier`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from bisimulator.cli._console import make_console
from bisimulator.cli._settings import Settings, parse_settings


def frontier(
    scenario: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="SCENARIO")],
    criterion: Annotated[str, tyro.conf.arg(metavar="NAME")] = "min-recall",
    levels: tuple[float, ...] | None = None,
    group_blind: bool = False,
    settings: Settings = (),
    runs: Path | None = None,
    figure: Path | None = None,
    csv: Path | None = None,
) -> None:
    """Compute the best return of any policy at each level of fairness, and how far each method is from it.

    A few seconds; up to a minute with ten groups or with --group-blind. Criteria of one group at a time (min-...) take
    up to 1,000 groups, gaps up to 100 groups with 7 scores, credit-gap up to 41.

    Args:
      scenario: a lending environment of `bisimulator list`.
      criterion: the measure of fairness: min-recall, min-approval, min-return, recall-gap, approval-gap,
        return-gap, benefit-gap or credit-gap.
      levels: levels of the criterion; evenly spaced by default.
      group_blind: also compute the best policies that do not see the group.
      settings: parameters of the scenario, such as population=500.
      runs: a folder of finished jobs to show as points; jobs with other settings are left out.
      figure: file of a plot, such as frontier.png.
      csv: file of the table, such as frontier.csv.
    """
    from bisimulator import files
    from bisimulator.core import make
    from bisimulator.exact.frontier import frontier as best_frontier
    from bisimulator.report.console import shown_share
    from bisimulator.report.figures._canvas import encode, figure_format
    from bisimulator.report.frontier_points import comparable_runs, job_points, published_points, same_people
    from bisimulator.report.frontiers import draw_frontier, frontier_rows, print_frontier

    if figure is not None:
        figure_format(figure)  # a wrong name is refused before anything is computed
    console, env = make_console(), make(scenario, **parse_settings(settings))
    points = published_points(scenario) if same_people(env, make(scenario)) else []
    if runs is not None:
        if not runs.is_dir():
            raise ValueError(f"there is no folder {runs} for --runs; name the one that was given as --out")
        jobs, left_out = comparable_runs(runs, env)
        points = [*job_points(jobs), *points]
        if left_out:
            console.print(left_out, soft_wrap=True, markup=False)
    with shown_share(console, "frontier") as on_progress:
        best = best_frontier(env, criterion, levels, group_blind=group_blind, on_progress=on_progress)
    print_frontier(best, points, console)
    if figure is not None:
        files.write_bytes(figure, encode(draw_frontier(best, points), figure_format(figure)))
        console.print(f"Figure: {figure}", soft_wrap=True, markup=False)
    if csv is not None:
        files.write_csv(csv, *frontier_rows(best))
        console.print(f"Table: {csv}", soft_wrap=True, markup=False)
