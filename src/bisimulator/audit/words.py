"""An audit in sentences that need no knowledge of the method."""

from __future__ import annotations

import numpy as np

from bisimulator.audit.analysis import Audit
from bisimulator.evaluation.certify import Estimate
from bisimulator.exact.certificate import CertificateEntry
from bisimulator.report.certificates import score_names

FOUR_FIFTHS = 0.8  # of the highest acceptance rate: a rule of thumb for adverse impact
_ALIKE = 0.02  # of a difference: less is no change worth a word

Said = tuple[str, str]  # title, text


def findings(found: Audit) -> list[Said]:
    """The short of it."""
    across = [_who_is_accepted, _who_is_turned_away, _where_people_end_up] if len(found.names) > 1 else []
    said = [tell(found) for tell in (*across, _what_it_earns, _what_could_be_had, _what_it_looks_at)]
    return [each for each in said if each is not None]


def _who_is_accepted(found: Audit) -> Said | None:
    names, (rate, _) = found.names, found.groups["approval_rate"]
    if np.isnan(rate).any():
        return None
    most, least = int(rate.argmax()), int(rate.argmin())
    title = "Who is accepted"
    if rate[most] == 0:
        return title, "Nobody is accepted."
    ratio = rate[least] / rate[most]
    verdict = "not below" if ratio >= FOUR_FIFTHS else "below"
    return title, (
        f"{_percent(rate[most])} of applications are accepted in group {names[most]} and {_percent(rate[least])} "
        "in group "
        f"{names[least]}. The lower rate is {ratio:.2f} of the higher, {verdict} the .80 of the four-fifths rule "
        "of thumb."
    )


def _who_is_turned_away(found: Audit) -> Said | None:
    names, (recall, _) = found.names, found.groups["recall"]
    if not np.isfinite(recall).any():
        return None
    most, least = int(np.nanargmax(recall)), int(np.nanargmin(recall))
    return "Who is turned away although they would repay", (
        f"Of the applications of people who would repay, {_percent(1 - recall[least])} are rejected in group "
        f"{names[least]}, "
        f"against {_percent(1 - recall[most])} in group {names[most]}."
    )


def _where_people_end_up(found: Audit) -> Said:
    (start, _), (end, _) = found.groups["score_start"], found.groups["score_end"]
    before, after = float(np.ptp(start)), float(np.ptp(end))
    way = "about as far apart as they began"
    if abs(after - before) > _ALIKE * max(before, 1e-9):
        way = "further apart than they began" if after > before else "closer together than they began"
    moves = ", ".join(f"{n} from {a:.4g} to {b:.4g}" for n, a, b in zip(found.names, start, end, strict=True))
    return "Where people end up", (
        f"The groups end {way}: the largest difference between two groups' average scores is {before:.3g} at the "
        "start and "
        f"{after:.3g} at the end ({moves})."
    )


def _what_it_earns(found: Audit) -> Said:
    chain, earned, regret = found.chain, found.earned, found.regret
    bound = earned + regret
    share = f", or {_percent(regret / bound)}" if bound > 0 else ""
    return "What it earns", (
        f"{earned:,.0f} over the whole time, where a repaid loan counts {chain.reward_repaid:g} and a default "
        f"{chain.reward_default:g}. No policy that accepts as large a share of every group's repayers can earn "
        "more than "
        f"{bound:,.0f}; this one stays {regret:,.0f} below{share}."
    )


def _what_could_be_had(found: Audit) -> Said | None:
    now, could = found.row.smallest_recall, found.fairest_at_this_return
    if not could > now + 0.005:
        return None
    return "What could be had without earning less", (
        f"Some policy earns no less and accepts at least {_percent(could)} of the repayers of every group; here "
        "the group "
        f"that fares worst has {_percent(now)}. It may decide differently at equal scores and change over time."
    )


def _what_it_looks_at(found: Audit) -> Said | None:
    if not found.looks_at_group:
        return None
    return "What it looks at", (
        "The policy treats people of equal scores differently by group. In many places a lender may not do that, "
        "whatever it "
        "leads to; in the United States the Equal Credit Opportunity Act forbids it for race, sex, age and more."
    )


def certificate_words(found: Audit) -> list[str]:
    """What the certificate proves."""
    if isinstance(found.certificate, Estimate):
        return [
            "There is no proof for this policy, only an estimate from the simulation. "
            + found.certificate.reason,
            f"The lender's result per person differs most between group {found.names[found.certificate.groups[0]]} and "
            f"group {found.names[found.certificate.groups[1]]}: by {found.certificate.gap:.3g}, 95% interval "
            f"{found.certificate.interval[0]:.3g} to {found.certificate.interval[1]:.3g}.",
        ]
    view = found.certificate.entry("loans", "episode")
    if len(view.values) == 1:
        return [view.explanation]
    g, h = view.groups
    return [
        "These figures are computed, not simulated: they hold exactly for these people under the rules at the end "
        "of the page.",
        f"A person of group {found.names[g]} can expect {view.values[g]:.2f} loans over the whole time, one of group "
        f"{found.names[h]} {view.values[h]:.2f}: {view.gap:.2f} "
        f"{'fewer' if view.values[h] < view.values[g] else 'more'}.",
        *_bound_words(found, view),
    ]


def _bound_words(found: Audit, view: CertificateEntry) -> list[str]:
    if np.isnan(view.bound):
        return [view.explanation]
    g, h = (found.names[group] for group in view.groups)
    said = [
        f"Averages can hide differences that cancel. Match the people of group {g} and group {h} at the start as "
        "well as "
        f"possible and follow every pair: the numbers of loans of the two differ by {view.bound:.2f} on average."
    ]
    if view.slack > 0.01 * view.bound:
        said.append(
            f"The groups' averages show {view.gap:.2f} of that. The rest cancels: {view.over_time:.2f} between "
            "better and worse "
            f"times of the same pair, {view.between_people:.2f} between pairs that favour the one group and pairs that "
            "favour the other."
        )
    else:
        said.append("The groups' averages show all of it: nothing is hidden by cancelling.")
    if view.worst_pair is not None and view.worst_distance > 0:
        one, other = (score_names(found.env)[score] for score in view.worst_pair)
        said.append(
            f"Of those matched, a person of group {g} with score {one} and one of group {h} with score {other} "
            "differ most: "
            f"by {view.worst_distance:.2f} loans."
        )
    return said


def frontier_words(found: Audit) -> list[str]:
    """How to read the picture of the frontier."""
    return [
        "Across: the share of repayers that is accepted in the group that fares worst. Up: what the policy earns. "
        "The black "
        "line is the most that any policy can earn at that level, proven; nothing lies above it. The dashed line "
        "is the most "
        "found for policies that look at score and group only.",
        "A lender pays for fairness only along the line. Below it, a policy gives up money, fairness or both for "
        "nothing.",
    ]


def assumptions(found: Audit) -> list[str]:
    """What the simulated world takes for granted."""
    chain, edges = found.chain, found.env.params.score_edges
    unit = " bins" if edges else ""
    said = [
        "Whether somebody repays depends on the group and on the score at that time"
        + (", and on a hidden trait of the person" if chain.has_hidden_type else "")
        + ", by rates that stay as they were in the data for all times.",
        f"A repaid loan raises the score by {chain.score_up}{unit}, a default lowers it by "
        f"{chain.score_down}{unit}, the same for "
        "everybody; a rejection leaves it as it is. Scores stay within their range.",
        "Everybody applies equally often, whatever happened before; nobody comes or goes; all loans are alike.",
        f"A repaid loan is worth {chain.reward_repaid:g} to the lender and a default {chain.reward_default:g}.",
        "Rates of repayment come from people who had loans. Those who were never given one may repay better or "
        "worse, and "
        "what counts as a default may have been recorded differently for different groups.",
        "Who of the rejected would have repaid is known in a simulation and nowhere else.",
    ]
    if edges:
        widths = np.diff(edges)
        size = (
            f"{widths.min():g}"
            if np.ptp(widths) < 1e-6 * widths.max()
            else f"{widths.min():g} to {widths.max():g}"
        )
        said.insert(
            0, f"Scores are put in {len(widths)} bins of {size} points; within a bin all people are alike."
        )
    return said


def caveats() -> list[str]:
    return [
        "This is a simulated world made from figures, not a forecast for any person or lender.",
        "Equal figures are not fairness, and unequal ones not proof of discrimination. The four-fifths rule comes "
        "from United "
        "States guidelines on employment; it is a rule of thumb, not a legal test of lending.",
        "The page does not say what the law asks for. It shows what a policy would lead to if the assumptions held.",
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if 0 < share < 0.1 or 0.9 < share < 1 else f"{100 * share:.0f}%"
