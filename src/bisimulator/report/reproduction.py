"""How much of the paper a reproduction reaches, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from bisimulator.jobs.store import Result
from bisimulator.report.paper_points import PaperPoints, points_sentence
from bisimulator.report.sentences import width_sentence
from bisimulator.report.text import clock
from bisimulator.report.verdicts import compare_with_paper, count_verdicts


def reproduction_sentence(results: Sequence[Result], seconds: float) -> str:
    """How many jobs ran and for how long, and how many published numbers are matched, beaten and missed."""
    counts = count_verdicts(compare_with_paper(results))
    return (
        f"{len(results)} jobs, {clock(seconds)} of training and evaluation in all processes together. "
        f"Of the paper's {counts.total} numbers "
        f"{counts.matched} are matched (the 95% intervals overlap), {counts.beaten} beaten, {counts.missed} missed and "
        f"{counts.not_run} not run. {width_sentence(counts)}"
    )


def points_reproduction(points: PaperPoints, seconds: float) -> str:
    """The same for the points of another paper."""
    return (
        f"{len(points.rows)} jobs, {clock(seconds)} of training and evaluation in all processes together. "
        f"{points_sentence(points)}"
    )
