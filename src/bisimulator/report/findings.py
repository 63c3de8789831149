"""What was found, in plain words, computed from the results."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bisimulator.evaluation import intervals as stats
from bisimulator.jobs.run import Result
from bisimulator.jobs.spec import Spec
from bisimulator.report import statistics
from bisimulator.report._by_scenario import Entry, Scene
from bisimulator.report.verdicts import compare, score

ALIKE = 0.005  # a smaller difference of recalls is none: the paper prints .00

_WORDS = {  # scenario begins with -> (who is qualified, what they get)
    "lending": ("who would repay", "get a loan"),
    "college": ("who would succeed", "are admitted"),
}
_OTHERWISE = ("who are qualified", "are accepted")


def baseline(scene: Scene) -> Entry | None:
    """Plain PPO, or else the method with the widest recall gap; None where no recall is defined."""
    known = _with_recalls(scene)
    plain = scene.find(statistics.BASELINE)
    return plain if plain in known else max(known, key=gap, default=None)


def fairest(scene: Scene) -> list[Entry]:
    """All whose recall gap is as small as any, those with the highest return first."""
    known = _with_recalls(scene)
    least = min(map(gap, known), default=math.nan)
    found = [entry for entry in known if gap(entry) < least + ALIKE]
    return sorted(found, key=lambda entry: -_mean(entry, "average_return"))


def _with_recalls(scene: Scene) -> list[Entry]:
    return [entry for entry in scene.entries if not math.isnan(gap(entry))]


def gap(entry: Entry) -> float:
    return _mean(entry, "recall_gap")


def _mean(entry: Entry, column: str) -> float:
    return entry.result.summary[column][0]


def of_scene(scene: Scene) -> list[str]:
    base, fair = baseline(scene), fairest(scene)
    if base is None:
        return ["No method's recall is defined here: nobody qualified applied."]
    found = [_who_gets_what(scene, base)]
    others = [entry for entry in fair if entry is not base]
    if others and gap(base) - gap(others[0]) > ALIKE:
        found.append(_brought_together(base, others))
    found += _scores(base, others)
    found += [sentence for entry in scene.entries if (sentence := _shown_to_the_agent(entry))]
    return found


def _who_gets_what(scene: Scene, base: Entry) -> str:
    who, what = next((w for start, w in _WORDS.items() if scene.scenario.startswith(start)), _OTHERWISE)
    groups = base.result.spec.make_env().num_groups
    recalls = {g: _mean(base, f"recall_g{g}") for g in range(1, groups + 1)}
    recalls = {g: recall for g, recall in recalls.items() if not math.isnan(recall)}
    top, low = max(recalls, key=recalls.__getitem__), min(recalls, key=recalls.__getitem__)
    if recalls[top] - recalls[low] <= ALIKE:
        return f"Under {base.label} {recalls[top]:.0%} of those {who} {what}, in every group alike."
    return (
        f"Under {base.label} {recalls[top]:.0%} of those {who} {what} in group {top}, "
        f"and {recalls[low]:.0%} in group {low}."
    )


def _brought_together(base: Entry, fair: Sequence[Entry]) -> str:
    first = fair[0]
    names, verb = listed([entry.label for entry in fair]), "bring" if len(fair) > 1 else "brings"
    before, after = _mean(base, "average_return"), _mean(first, "average_return")
    change = f", {abs(after / before - 1):.1%} {'more' if after > before else 'less'}" if before > 0 else ""
    difference = statistics.against(first, base, "average_return")
    whose = f"the return of {first.label}" if len(fair) > 1 else "its return"
    return (
        f"{names} {verb} the groups' recalls from {gap(base):.2f} apart to {gap(first):.2f}; "
        f"{stats.in_words(difference, f'{whose} ({after:,.1f}{change})', base.label, digits=1)}."
    )


def _scores(base: Entry, fair: Sequence[Entry]) -> list[str]:
    if not fair or "credit_gap" not in base.result.summary:
        return []
    before, after = _mean(base, "credit_gap"), _mean(fair[0], "credit_gap")
    how = "closer together" if after < before else "further apart"
    return [
        f"In the long run {fair[0].label} leaves the groups' credit scores {how} than {base.label}: "
        f"{after:.2f} points apart instead of {before:.2f}."
    ]


def _shown_to_the_agent(entry: Entry) -> str:
    """Figure 2 in words."""
    if entry.omega is None or "observed_credit_gap" not in entry.result.summary:
        return ""
    true, seen = _mean(entry, "credit_gap"), _mean(entry, "observed_credit_gap")
    return (
        f"{entry.label} shows its agent credit scores that are {seen:.2f} points apart "
        f"where the true ones are {true:.2f}."
    )


def score_sentence(results: Sequence[Result]) -> str:
    """How much of the paper is matched, and what makes matching easy."""
    s = score(compare(results))
    run = s.total - s.not_run
    if not run:
        return f"None of the paper's {s.total} numbers was run here."
    some = (
        f"All {s.total} numbers of the paper" if run == s.total else f"Of the paper's {s.total} numbers {run}"
    )
    left = f" {s.not_run} were not run." if s.not_run else ""
    return (
        f"{some} were run here: {s.matched} are matched (the 95% intervals overlap; for {s.within} of them our mean "
        f"lies in the published interval itself), {s.beaten} beaten (they do not overlap, and ours is better) and "
        f"{s.missed} missed (ours is worse).{left}{_caution(results)}"
    )


def _caution(results: Sequence[Result]) -> str:
    """Few seeds have wide intervals, which overlap easily."""
    seeds = min(len(result.spec.seeds) for result in results)
    steps = min((result.spec.steps for result in results if result.spec.steps), default=Spec.steps)
    if seeds >= len(Spec.seeds) and steps >= Spec.steps:
        return ""
    return (
        f" Some jobs have only {seeds} seeds or {steps:,} steps of training where {len(Spec.seeds)} and "
        f"{Spec.steps:,} are usual: the intervals of few seeds are wide and overlap easily."
    )


def listed(names: Sequence[str], max: int = 4) -> str:
    """A, B and C; beyond `max` names the others are counted."""
    if len(names) > max:
        names = [*names[: max - 1], f"{len(names) - max + 1} others"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
