"""`bisimulator reproduce`."""

from __future__ import annotations

from typing import Annotated

import tyro

from bisimulator.cli._console import make_console
from bisimulator.cli._job_options import JobOptions, split_names

_Names = Annotated[str | None, tyro.conf.arg(metavar="A,B,C")]


def reproduce(
    scenario: _Names = None,
    methods: _Names = None,
    paper: Annotated[str, tyro.conf.arg(metavar="NAME")] = "bisimulator",
    jobs: Annotated[JobOptions, tyro.conf.OmitArgPrefixes] = JobOptions(),  # noqa: B008
) -> None:
    """Run every method of every table of a paper, then write all tables, figures and the page.

    20 to 30 minutes on 2 cores, 4 to 6 with --quick; other papers take less. It can be stopped at any time; the same
    command resumes it.

    Args:
      scenario: comma-separated environments; those of the paper by default.
      methods: comma-separated methods; by default those that the paper has in the scenario's table.
      paper: bisimulator, or another paper: elbert, pocar or damour.
      jobs: how the jobs run and where they are stored; the report goes to OUT as well.
    """
    from bisimulator.jobs.paper import plan_jobs
    from bisimulator.jobs.papers import DEFAULT, find_paper
    from bisimulator.jobs.references import references
    from bisimulator.report.paper_points import compare_points
    from bisimulator.report.progress import print_json
    from bisimulator.report.reproduction import points_reproduction, reproduction_sentence
    from bisimulator.report.verdicts import compare_with_paper, count_verdicts
    from bisimulator.report.write import write_report

    console = make_console()
    found = find_paper(paper)
    of_default = paper == DEFAULT
    fields = jobs.spec_fields if of_default else jobs.paper_fields(found.seeds, found.quick_share)
    planned = plan_jobs(found, split_names(scenario), split_names(methods), **fields)
    if not planned:
        raise ValueError("there is nothing to run; the paper has none of these methods in these scenarios")
    finished = jobs.run([job.spec for job in planned], console)
    if finished.results:
        beside = references(finished.results)
        if of_default:
            s = count_verdicts(compare_with_paper(finished.results))
            counts = {"matched": s.matched, "beaten": s.beaten, "missed": s.missed}
            counts["matched_only_by_width"] = s.only_by_width
            sentence = reproduction_sentence(finished.results, finished.seconds)
            written = write_report(finished.results, jobs.out, references=beside)
        else:
            points = compare_points(found, {job.spec.name: job.row for job in planned}, finished.results)
            counts = {name.replace(" ", "_"): n for name, n in points.counts().items()}
            sentence = points_reproduction(points, finished.seconds)
            written = write_report(finished.results, jobs.out, references=beside, points=points)
        if jobs.json:
            print_json(console, {"event": "report", "files": [str(path) for path in written], **counts})
        else:
            console.print(sentence, soft_wrap=True, highlight=False)
            places = dict.fromkeys(path if path.parent == jobs.out else path.parent for path in written)
            console.print(f"Written: {', '.join(map(str, places))}", soft_wrap=True, markup=False)
    finished.raise_failures()
