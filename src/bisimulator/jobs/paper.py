"""A paper to reproduce: its citation, and a list of jobs, each with the row of the paper that it stands beside."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bisimulator import registry
from bisimulator.errors import check_known
from bisimulator.jobs.spec import Spec, make_spec


@dataclasses.dataclass(frozen=True)
class PaperJob:
    """One job of a paper's table."""

    scenario: str
    method: str
    row: str = ""  # what the paper calls it in its numbers; empty if the paper has no number of it
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # those of `make_spec`


@dataclasses.dataclass(frozen=True)
class Paper:
    """What `bisimulator reproduce --paper NAME` runs. Its published numbers are `published.points(NAME)`."""

    name: str
    citation: str
    jobs: Callable[[], Sequence[PaperJob]]
    seeds: int = 5
    quick_share: float = 0.1  # of the training steps, with --quick


@dataclasses.dataclass(frozen=True)
class PlannedJob:
    """A job of a paper, ready to run."""

    spec: Spec
    row: str


def plan_jobs(
    paper: Paper,
    scenarios: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    *,
    share: float = 1.0,
    **given: Any,
) -> list[PlannedJob]:
    """The jobs of a paper, or of some of its scenarios and methods.

    Args:
        paper: one of `papers.PAPERS`.
        scenarios: those of the paper by default.
        methods: those of the paper by default. A method that is asked for by name is run in every scenario, whether the
            paper has it there or not.
        share: of the training steps.
        **given: fields of `make_spec` that go before the paper's.
    """
    for scenario in scenarios or ():
        check_known("environment", scenario, registry.names("environment"))
    for method in methods or ():
        check_known("method", method, registry.names("method"))
    jobs = list(paper.jobs())
    asked = [
        job
        for scenario in dict.fromkeys(scenarios or [job.scenario for job in jobs])
        for job in _in_scenario([job for job in jobs if job.scenario == scenario], scenario, methods)
    ]
    return [
        PlannedJob(make_spec(job.scenario, job.method, **_options(job, share, given)), job.row)
        for job in asked
    ]


def _in_scenario(
    jobs: Sequence[PaperJob], scenario: str, methods: Sequence[str] | None
) -> Sequence[PaperJob]:
    if methods is None:
        return jobs
    return [
        job
        for method in dict.fromkeys(methods)
        for job in [job for job in jobs if job.method == method] or [PaperJob(scenario, method)]
    ]


def _options(job: PaperJob, share: float, given: Mapping[str, Any]) -> dict[str, Any]:
    options = {**job.options, **given}
    if share != 1 and "steps" in job.options and "steps" not in given:
        options["steps"] = round(share * options["steps"])
    return options
