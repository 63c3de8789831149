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
    jobs: Annotated[JobOptions, tyro.conf.OmitArgPrefixes] = JobOptions(),  # noqa: B008
) -> None:
    """Run every method of every table of the paper, then write all tables, figures and the page.

    About an hour on 2 cores, a quarter of an hour with --quick. It can be stopped at any time; the same command
    resumes it.

    Args:
      scenario: comma-separated environments; those of the paper by default.
      methods: comma-separated methods; by default those that the paper has in the scenario's table.
      jobs: how the jobs run and where they are stored; the report goes to OUT as well.
    """
    from bisimulator.jobs.paper import paper_jobs
    from bisimulator.jobs.references import references
    from bisimulator.report.progress import print_json
    from bisimulator.report.reproduction import reproduction_sentence
    from bisimulator.report.verdicts import compare_with_paper, count_verdicts
    from bisimulator.report.write import write_report

    console = make_console()
    specs = paper_jobs(split_names(scenario), split_names(methods), **jobs.spec_fields)
    if not specs:
        raise ValueError("there is nothing to run; the paper has none of these methods in these scenarios")
    finished = jobs.run(specs, console)
    if finished.results:
        written = write_report(finished.results, jobs.out, references=references(finished.results))
        if jobs.json:
            s = count_verdicts(compare_with_paper(finished.results))
            counts = {"matched": s.matched, "beaten": s.beaten, "missed": s.missed}
            counts["matched_only_by_width"] = s.only_by_width
            print_json(console, {"event": "report", "files": [str(path) for path in written], **counts})
        else:
            sentence = reproduction_sentence(finished.results, finished.seconds)
            console.print(sentence, soft_wrap=True, highlight=False)
            places = dict.fromkeys(path if path.parent == jobs.out else path.parent for path in written)
            console.print(f"Written: {', '.join(map(str, places))}", soft_wrap=True, markup=False)
    finished.raise_failures()
