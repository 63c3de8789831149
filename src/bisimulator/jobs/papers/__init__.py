"""The papers that `bisimulator reproduce` runs, one file each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bisimulator.errors import check_known
from bisimulator.jobs.paper import Paper, plan_jobs
from bisimulator.jobs.papers import bisimulator_paper, damour_paper, elbert_paper, pocar_paper
from bisimulator.jobs.spec import Spec

PAPERS: dict[str, Paper] = {
    module.PAPER.name: module.PAPER for module in (bisimulator_paper, elbert_paper, pocar_paper, damour_paper)
}
DEFAULT = bisimulator_paper.PAPER.name


def find_paper(name: str) -> Paper:
    """The paper called `name`; an unknown name raises with the closest ones."""
    check_known("paper", name, PAPERS)
    return PAPERS[name]


def paper_jobs(
    scenarios: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    *,
    paper: str = DEFAULT,
    **fields: Any,
) -> list[Spec]:
    """The specs of a paper's jobs, or of some; arguments as for `plan_jobs`."""
    return [job.spec for job in plan_jobs(find_paper(paper), scenarios, methods, **fields)]
