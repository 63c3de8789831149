"""What the results show, in sentences computed from the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bisimulator.core import Outcome
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result
from bisimulator.report._by_scenario import JobEntry, ScenarioResults
from bisimulator.report._table_columns import printed, title
from bisimulator.report.statistics import BASELINE, differences_in_words
from bisimulator.report.verdicts import VerdictCounts, compare_with_paper, count_verdicts

TIE = 0.005  # recall gaps that differ by less are printed alike in the paper
COMPARED = ("average_return", "credit_gap")


def baseline(scenario: ScenarioResults) -> JobEntry | None:
    """Plain PPO, or else the method with the largest gap of the main rate; None if no gap is defined."""
    known = _with_gaps(scenario)
    plain = scenario.find(BASELINE)
    return plain if plain in known else max(known, key=scenario.main_gap, default=None)


def fairest(scenario: ScenarioResults) -> list[JobEntry]:
    """All methods whose gap is within `TIE` of the smallest, those with the highest return first."""
    known = _with_gaps(scenario)
    smallest = min(map(scenario.main_gap, known), default=math.nan)
    tied = [entry for entry in known if scenario.main_gap(entry) < smallest + TIE]
    return sorted(tied, key=lambda entry: -entry.result.summary["average_return"][0])


def _with_gaps(scenario: ScenarioResults) -> list[JobEntry]:
    return [entry for entry in scenario.entries if not math.isnan(scenario.main_gap(entry))]


def scenario_sentences(scenario: ScenarioResults) -> list[str]:
    """The groups' rates under the baseline, the fairest methods compared with it, and what qualifies the numbers."""
    base = baseline(scenario)
    if base is None:
        return ["No method's recall is defined here: nobody qualified applied."]
    others = [entry for entry in fairest(scenario) if entry is not base]
    of_applicants = scenario.env.scenario.applicants
    sentences = [_recalls(scenario, base) if of_applicants else _benefit_rates(scenario, base)]
    if others:
        sentences.append(_fairest_compared(scenario, base, others))
    sentences += _trivial(scenario) if of_applicants else []
    sentences += [sentence for entry in scenario.entries if (sentence := _observed_scores(entry))]
    return sentences


def _recalls(scenario: ScenarioResults, base: JobEntry) -> str:
    words, summary = scenario.env.scenario.vocabulary, base.result.summary
    recalls = {g: summary[f"recall_g{g}"] for g in range(1, scenario.env.num_groups + 1)}
    known = {g: mean for g, (mean, _) in recalls.items() if not math.isnan(mean)}
    top, low = max(known, key=known.__getitem__), min(known, key=known.__getitem__)
    begin = f"Under {base.label} {_percent(*recalls[top])} of those {words.qualified} {words.accepted}"
    if known[top] == known[low]:
        return f"{begin} in every group."
    return f"{begin} in group {top}, and {_percent(*recalls[low])} in group {low}."


def _benefit_rates(scenario: ScenarioResults, base: JobEntry) -> str:
    names, summary = scenario.env.group_names, base.result.summary
    rates = [summary[f"benefit_rate_g{g}"] for g in range(1, len(names) + 1)]
    means = [mean for mean, _ in rates]
    top, low = means.index(max(means)), means.index(min(means))
    return (
        f"Under {base.label} group {names[top]} receives {printed(*rates[top])} of what it needs (benefit rate), and "
        f"group {names[low]} {printed(*rates[low])}."
    )


def _percent(mean: float, half: float) -> str:
    return f"{100 * mean:.1f}%" + ("" if math.isnan(half) else f" ± {100 * half:.1f}%")


def _fairest_compared(scenario: ScenarioResults, base: JobEntry, others: Sequence[JobEntry]) -> str:
    first = others[0]
    names = join_names([entry.label for entry in others])
    tied = f" (to within {TIE})" if len(others) > 1 else ""
    gap = scenario.gap_column
    columns = [column for column in (gap, *COMPARED) if column in base.result.summary]
    differences = differences_in_words(first.result, base.result, columns, printed)
    return f"Smallest {title(gap)}{tied}: {names}. {first.label} instead of {base.label}: {differences}."


def _trivial(scenario: ScenarioResults) -> list[str]:
    """Which methods decide like a rule that looks at nobody."""
    by_rule: dict[str, list[str]] = {}
    for entry in scenario.entries:
        rule = trivial_rule(entry.result.outcome)
        if rule and rule != entry.result.spec.method:
            by_rule.setdefault(rule, []).append(entry.label)
    return [
        f"{join_names(names)} {'decides' if len(names) == 1 else 'decide'} like {rule} in every evaluation episode."
        for rule, names in by_rule.items()
    ]


def trivial_rule(outcome: Outcome) -> str:
    """The rule that a policy's decisions equal in every episode: accept-all, reject-all or none ("")."""
    if outcome.tallies is not None:
        return ""
    applied, approved = (np.asarray(outcome.count(name)) for name in ("applied", "approved"))
    if np.array_equal(applied, approved):
        return "accept-all"
    return "" if approved.any() else "reject-all"


def _observed_scores(entry: JobEntry) -> str:
    """Figure 2 of the paper in words."""
    summary = entry.result.summary
    if entry.omega is None or "observed_credit_gap" not in summary:
        return ""
    return (
        f"The agent of {entry.label} observes a credit gap of {printed(*summary['observed_credit_gap'])} points; "
        f"the true one is {printed(*summary['credit_gap'])}."
    )


def paper_sentence(results: Sequence[Result]) -> str:
    """How much of the paper is matched, and what makes matching easy."""
    counts = count_verdicts(compare_with_paper(results))
    run = counts.total - counts.not_run
    if not run:
        return f"None of the paper's {counts.total} numbers was run here."
    some = (
        f"All {counts.total} numbers of the paper"
        if run == counts.total
        else f"Of the paper's {counts.total} numbers {run}"
    )
    left = f" {counts.not_run} were not run." if counts.not_run else ""
    return (
        f"{some} were run here: {counts.matched} are matched (the 95% intervals overlap; for {counts.within} of them "
        f"our mean lies in the published interval itself), {counts.beaten} beaten (they do not overlap, and ours is "
        f"better) and {counts.missed} missed (ours is worse).{left} {width_sentence(counts)}{_caution(results)}"
    )


def width_sentence(counts: VerdictCounts) -> str:
    """How wide our intervals are, and how many numbers are matched by that alone."""
    if math.isnan(counts.width):
        return "With one seed there are no intervals of ours to compare."
    return (
        f"Our intervals are {counts.width:.2g} times as wide as the published ones (median); if they were no wider, "
        f"{counts.only_by_width} of the matched numbers would not be."
    )


def _caution(results: Sequence[Result]) -> str:
    """Few seeds have wide intervals, which overlap easily."""
    seeds = min(len(result.spec.seeds) for result in results)
    steps = min((result.spec.steps for result in results if result.spec.steps), default=Spec.steps)
    if seeds >= len(Spec.seeds) and steps >= Spec.steps:
        return ""
    return (
        f" Some jobs have only {seeds} seeds or {steps:,} training steps; the defaults are {len(Spec.seeds)} and "
        f"{Spec.steps:,}. The intervals of few seeds are wide and overlap easily."
    )


def join_names(names: Sequence[str], max: int = 4) -> str:
    """A, B and C; beyond `max` names the others are counted."""
    if len(names) > max:
        names = [*names[: max - 1], f"{len(names) - max + 1} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
