"""`bisimulator report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import tyro

from bisimulator.cli._console import make_console


def report(
    runs: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUNS")] = Path("runs"),
    out: Path | None = None,
    formats: tuple[Literal["svg", "png", "pdf"], ...] = ("svg",),
) -> None:
    """Write tables (Markdown, LaTeX, CSV), figures and an HTML page for any folder of finished jobs.

    About 20 s, and up to 20 s more per scenario for its frontier.

    Args:
      runs: folder of the jobs, the --out of `train`, `compare` or `reproduce`.
      out: folder of the report; RUNS/report by default.
      formats: file formats of the figures.
    """
    from bisimulator.jobs.references import references
    from bisimulator.jobs.store import find_runs
    from bisimulator.report.write import write_report

    if not runs.is_dir():
        raise ValueError(f"there is no folder {runs}; name the one that was given as --out")
    results = find_runs(runs)
    if not results:
        raise ValueError(f"there is no finished job in {runs}; run one first: bisimulator train lending ppo")
    target = runs / "report" if out is None else out
    written = write_report(results, target, formats, references(results))
    console = make_console()
    console.print(f"{len(results)} jobs: {', '.join(sorted({r.spec.scenario for r in results}))}")
    places = dict.fromkeys(path if path.parent == target else path.parent for path in written)
    console.print(f"Written: {', '.join(map(str, places))}", soft_wrap=True, markup=False)
