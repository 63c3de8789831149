"""Jobs beside the points that a paper reports, one row each: published, here, verdict, and the regret on lending.

A method is compared with what it was published to reach. Matched: it is as good, that is, its reward is not lower by
more than 3% and its bias not higher by more than .02. Beaten: it is better by more than the reading error of the
published number. Missed: it is worse. A rule has nothing to learn, so its numbers must be the same: those of another
simulation within 3 standard errors of ours and their own rounding, printed ones within 3%.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property

from bisimulator import published
from bisimulator.evaluation.intervals import standard_error
from bisimulator.exact.chain import why_no_chain, with_true_scores
from bisimulator.exact.frontier import Frontier, frontier
from bisimulator.jobs.labels import labels
from bisimulator.jobs.paper import Paper
from bisimulator.jobs.store import Result
from bisimulator.report._table_columns import direction, short_title
from bisimulator.report.frontier_points import MethodPoint
from bisimulator.report.tables import Grid, markdown, markdown_text
from bisimulator.report.text import number
from bisimulator.report.verdicts import BEATEN, MATCHED, MISSED, NOT_RUN

TOLERANCE_SHARE = 0.03  # of the published number: rewards, and all that is counted
TOLERANCE_BIAS = 0.02
TOLERANCE_ERRORS = 3  # standard errors, of a rule's numbers
REWARD, BIAS = "reward_per_step", "benefit_rate_bias"
REGRET = "regret %"
REGRET_NOTE = (
    "Regret: how much less a policy returns than the best possible one with the same bias, in percent of the latter "
    "(exact frontier of the recall gap; exact values of the policies where they exist)."
)
CSV_COLUMNS = (
    "scenario",
    "method",
    "registered_as",
    "metric",
    "published",
    "published_error",
    "mean",
    "ci95",
    "verdict",
    "source",
)


@dataclasses.dataclass(frozen=True)
class PointComparison:
    """One number of a paper and ours."""

    metric: str
    ours: tuple[float, float]  # mean, half width of the 95% interval
    theirs: published.Point
    rule: bool  # a rule's numbers must be the same; a method's at least as good
    seeds: int

    @property
    def verdict(self) -> str:
        gain = self.ours[0] - self.theirs.mean
        tolerance = TOLERANCE_BIAS if self.metric == BIAS else TOLERANCE_SHARE * abs(self.theirs.mean)
        if self.rule:
            if self.theirs.simulated:
                tolerance = TOLERANCE_ERRORS * standard_error(self.ours[1], self.seeds) + self.theirs.error
            return MATCHED if abs(gain) <= tolerance else MISSED
        gain = gain if direction(self.metric) == "higher" else -gain
        if gain > self.theirs.error:
            return BEATEN
        return MATCHED if gain >= -tolerance else MISSED  # so is NaN


@dataclasses.dataclass(frozen=True, eq=False)
class PaperRow:
    """One job, and what the paper has of it."""

    label: str
    result: Result
    published: Mapping[str, published.Point]  # by metric; empty if the paper does not have it

    @property
    def scenario(self) -> str:
        return self.result.spec.scenario

    def compare(self, metric: str) -> PointComparison | None:
        if metric not in self.published:
            return None
        spec = self.result.spec
        ours, theirs = self.result.summary[metric], self.published[metric]
        return PointComparison(metric, ours, theirs, rule=spec.solver is None, seeds=len(spec.seeds))


@dataclasses.dataclass(frozen=True, eq=False)
class PaperPoints:
    """All jobs of a paper that were run."""

    paper: Paper
    rows: Sequence[PaperRow]

    @cached_property
    def scenarios(self) -> list[str]:
        return list(dict.fromkeys(row.scenario for row in self.rows))

    def metrics(self, scenario: str) -> list[str]:
        """Reward and bias first, then what else the paper has there."""
        known = [m for s, _, m in published.points(self.paper.name) if s == scenario]
        return list(dict.fromkeys([REWARD, BIAS, *known]))

    def of(self, scenario: str) -> list[PaperRow]:
        return [row for row in self.rows if row.scenario == scenario]

    def counts(self, scenario: str | None = None) -> dict[str, int]:
        """How many published numbers are matched, beaten, missed and not run."""
        expected = [key for key in published.points(self.paper.name) if scenario in (None, key[0])]
        rows = [row for row in self.rows if scenario in (None, row.scenario)]
        found = Counter(c.verdict for row in rows for m in row.published if (c := row.compare(m)))
        return {
            **{verdict: found[verdict] for verdict in (MATCHED, BEATEN, MISSED)},
            NOT_RUN: len(expected) - found.total(),
        }

    @cached_property
    def regrets(self) -> Mapping[str, Mapping[str, tuple[str, str]]]:
        """By scenario with a frontier and by label: the regret of the published point, and of ours, in percent."""
        return {name: found for name in self.scenarios if (found := _regrets(self.of(name)))}


def compare_points(paper: Paper, rows: Mapping[str, str], results: Sequence[Result]) -> PaperPoints:
    """The results beside the paper's numbers; `rows` has the paper's name of each job by the name of its spec."""
    points = published.points(paper.name)
    found = []
    for label, result in zip(labels([r.spec for r in results]), results, strict=True):
        spec, row = result.spec, rows.get(result.spec.name, "")
        theirs = {m: point for (s, name, m), point in points.items() if (s, name) == (spec.scenario, row)}
        goal = f"{spec.method} with {spec.goal}" if spec.goal else ""
        found.append(PaperRow(row or goal or label, result, theirs))
    return PaperPoints(paper, found)


def point_grid(points: PaperPoints, scenario: str) -> Grid:
    """One row per job: for each metric the published number, ours and the verdict; then the regrets."""
    metrics, regrets = points.metrics(scenario), points.regrets.get(scenario)
    head = ["method"]
    for metric in metrics:
        head += [f"{short_title(metric)}, published", "here", "verdict"]
    head += [f"{REGRET}, published", "here"] if regrets else []
    lines = []
    for row in points.of(scenario):
        line = [row.label]
        for metric in metrics:
            c = row.compare(metric)
            theirs = number(c.theirs.mean, c.theirs.error or math.nan, digits=3) if c else ""
            line += [theirs, number(*row.result.summary[metric], digits=3), c.verdict if c else ""]
        line += regrets[row.label] if regrets else ()
        lines.append(line)
    return Grid(head, lines)


def markdown_points(points: PaperPoints) -> str:
    """The page: the sentence, and one table per scenario."""
    parts = [f"# {markdown_text(points.paper.citation)}", markdown_text(points_sentence(points))]
    for scenario in points.scenarios:
        results = [row.result for row in points.of(scenario)]
        parts += [f"## {markdown_text(scenario)}", markdown_text(runs_in_words(results))]
        parts.append(markdown(point_grid(points, scenario)))
        if scenario in points.regrets:
            parts.append(REGRET_NOTE)
    return "\n\n".join(parts) + "\n"


def runs_in_words(results: Sequence[Result]) -> str:
    """Seeds, evaluation episodes and training steps of some jobs."""
    specs = [result.spec for result in results]
    steps = sorted({spec.steps for spec in specs if spec.steps})
    training = f", {' or '.join(f'{n:,}' for n in steps)} training steps" if steps else ""
    return (
        f"{len(specs[0].seeds)} seeds x {specs[0].episodes} evaluation episodes{training}; ± half width of the 95% "
        "interval, or the reading error of a published number."
    )


def point_rows(points: PaperPoints) -> list[tuple[object, ...]]:
    """Every number at full precision, for a CSV file."""
    rows: list[tuple[object, ...]] = []
    for row in points.rows:
        for metric in points.metrics(row.scenario):
            c = row.compare(metric)
            theirs = (c.theirs.mean, c.theirs.error) if c else ("", "")
            verdict = (c.verdict, c.theirs.source) if c else ("", "")
            method = row.result.spec.method
            rows.append(
                (row.scenario, row.label, method, metric, *theirs, *row.result.summary[metric], *verdict)
            )
    return rows


def points_sentence(points: PaperPoints) -> str:
    """How much of the paper is reached."""
    counts = points.counts()
    return (
        f"Of the {sum(counts.values())} numbers of {points.paper.citation}, {counts[MATCHED]} are matched, "
        f"{counts[BEATEN]} beaten, {counts[MISSED]} missed and {counts[NOT_RUN]} not run. A method matches a number if "
        f"its reward is not lower by more than {TOLERANCE_SHARE:.0%} and its bias not higher by more than "
        f"{TOLERANCE_BIAS:g}, and beats it if it is better by more than the error with which the number was read off a "
        f"figure. A rule must have the same numbers: those of another simulation within {TOLERANCE_ERRORS} standard "
        f"errors and their rounding, printed ones within {TOLERANCE_SHARE:.0%}."
    )


def _regrets(rows: Sequence[PaperRow]) -> dict[str, tuple[str, str]]:
    """In percent of the best return that is possible at the same bias; nothing if there is no frontier."""
    spec = rows[0].result.spec
    env = with_true_scores(spec.make_env())
    if why_no_chain(env) or any(row.result.spec.settings != spec.settings for row in rows):
        return {}
    ours = [MethodPoint.from_job(row.label, row.result) for row in rows]
    best = frontier(env, "recall-gap", levels=[0.0])
    return {
        row.label: (_percent(_published_point(row, env.horizon), best), _percent(point, best))
        for row, point in zip(rows, ours, strict=True)
    }


def _published_point(row: PaperRow, horizon: int) -> MethodPoint | None:
    if REWARD not in row.published or BIAS not in row.published:
        return None
    reward, bias = row.published[REWARD], row.published[BIAS]
    summary = {"average_return": (horizon * reward.mean, 0.0), "recall_gap": (bias.mean, 0.0)}
    return MethodPoint.from_summary(row.label, summary, source="paper", rounding=bias.error)


def _percent(point: MethodPoint | None, best: Frontier) -> str:
    if point is None:
        return ""
    regret, half = point.regret(best)
    total = regret + point.average_return[0]
    return number(100 * regret / total, 100 * half / total, digits=1)
