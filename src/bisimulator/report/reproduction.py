"""`bisimulator reproduce`: all jobs of the paper, shown while they run, then the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from bisimulator.jobs.executors import Event, Executor, Listener, run_locally
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result
from bisimulator.report._job_states import Board, clock
from bisimulator.report.progress import print_json, view
from bisimulator.report.verdicts import compare, score
from bisimulator.report.write import write_report


def show_reproduction(
    specs: Sequence[Spec],
    out: Path,
    console: Console,
    *,
    executor: Executor = run_locally,
    as_json: bool = False,
    track: Listener | None = None,
) -> list[Result]:
    """Every job is checked before the first one runs; finished ones are taken from `out`. `track` hears everything."""
    if not specs:
        raise ValueError("there is nothing to run; the paper has none of these methods in these scenarios")
    for spec in specs:
        spec.make_env()
    board = Board(specs)
    with view(board, console, as_json) as show:

        def tell(event: Event) -> None:
            show(event)
            if track is not None:
                track(event)

        found = executor(specs, out, tell)
    results = [result for result in found if result is not None]
    failed = [job for job in board.jobs if job.state == "failed"]
    if results:
        _report(results, out, board, console, as_json)
    if failed:
        raise FloatingPointError(
            f"{len(failed)} of {len(specs)} jobs failed: "
            + "; ".join(f"{j.title}: {j.message}" for j in failed)
        )
    return results


def _report(results: Sequence[Result], out: Path, board: Board, console: Console, as_json: bool) -> None:
    if not as_json:
        console.print("Writing tables, figures and the page ...")
    written = write_report(results, out)
    counts = score(compare(results))
    if as_json:
        told = {"event": "report", "files": [str(path) for path in written]}
        print_json(
            console, {**told, "matched": counts.matched, "beaten": counts.beaten, "missed": counts.missed}
        )
        return
    seconds = sum(job.seconds for job in board.jobs)
    console.print(
        f"{len(results)} jobs, {clock(seconds)} of training and evaluation. Of the paper's {counts.total} numbers "
        f"{counts.matched} are matched (the 95% intervals overlap), {counts.beaten} beaten, {counts.missed} missed "
        f"and {counts.not_run} not run.",
        soft_wrap=True,
        highlight=False,
    )
    places = dict.fromkeys(path if path.parent == out else path.parent for path in written)
    console.print(
        f"Written: {', '.join(map(str, places))}; the jobs are kept in {out}", soft_wrap=True, markup=False
    )
