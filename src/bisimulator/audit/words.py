"""An audit in sentences for readers who do not know the method."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from bisimulator.audit.analysis import AuditResult
from bisimulator.core import Values
from bisimulator.evaluation.certify import Estimate
from bisimulator.exact.certificate import CertificateEntry
from bisimulator.report.certificates import score_names

FOUR_FIFTHS = 0.8  # of the highest acceptance rate: a rule of thumb for adverse impact
_SMALL_CHANGE = 0.02  # of a difference; less is no change worth a word

Statement: TypeAlias = tuple[str, str]  # title, text


def summary_statements(result: AuditResult) -> list[Statement]:
    """The summary at the top of the page."""
    between_groups = [_who_is_accepted, _who_is_rejected, _where_scores_end] if len(result.names) > 1 else []
    statements = [
        write(result) for write in (*between_groups, _what_it_earns, _what_is_possible, _use_of_group)
    ]
    return [statement for statement in statements if statement is not None]


def summary_note(result: AuditResult) -> str:
    """Where the numbers of the summary come from."""
    if result.is_exact:
        return (
            "These numbers are exact expectations. The table of groups is simulated and varies around them."
        )
    return "All numbers are simulated; ± is the half width of the 95% interval over seeds."


def _who_is_accepted(result: AuditResult) -> Statement | None:
    names, rate = result.names, np.array(result.row.rates)
    if np.isnan(rate).any():
        return None
    highest, lowest = int(rate.argmax()), int(rate.argmin())
    title = "Who is accepted"
    if rate[highest] == 0:
        return title, "Nobody is accepted."
    ratio = rate[lowest] / rate[highest]
    verdict = "not below" if ratio >= FOUR_FIFTHS else "below"
    return title, (
        f"{_with_interval(result, 'approval_rate', rate, highest)} of applications are accepted in group "
        f"{names[highest]} and {_with_interval(result, 'approval_rate', rate, lowest)} in group {names[lowest]}. The "
        f"lower rate is {ratio:.2f} of the higher, {verdict} the .80 of the four-fifths rule of thumb."
    )


def _who_is_rejected(result: AuditResult) -> Statement | None:
    names, recall = result.names, np.array(result.row.recalls)
    if not np.isfinite(recall).any():
        return None
    highest, lowest = int(np.nanargmax(recall)), int(np.nanargmin(recall))
    return "Who is rejected although they would repay", (
        f"Of the applications of people who would repay, {_with_interval(result, 'recall', 1 - recall, lowest)} are "
        f"rejected in group {names[lowest]}, against {_with_interval(result, 'recall', 1 - recall, highest)} in group "
        f"{names[highest]}."
    )


def _where_scores_end(result: AuditResult) -> Statement:
    start, end = result.start_scores, np.array(result.row.scores)
    before, after = float(np.ptp(start)), float(np.ptp(end))
    change = "about as far apart as they began"
    if abs(after - before) > _SMALL_CHANGE * max(before, 1e-9):
        change = "further apart than they began" if after > before else "closer together than they began"
    moves = ", ".join(
        f"{n} from {a:.4g} to {b:.4g}" for n, a, b in zip(result.names, start, end, strict=True)
    )
    return "Where people end up", (
        f"The groups end {change}: the largest difference between two groups' average scores is {before:.3g} at the "
        f"start and {after:.3g} at the end ({moves})."
    )


def _what_it_earns(result: AuditResult) -> Statement:
    chain, earned, regret = result.chain, result.earned, result.regret
    bound = earned + regret
    share = f", or {_percent(regret / bound)}" if bound > 0 else ""
    rule = ""
    if result.equal_rule:
        like = "It decides exactly" if result.is_exact else "In every simulated episode it decides"
        rule = f" {like} like the rule {result.equal_rule}."
    half = result.summary["average_return"][1]
    interval = "" if result.is_exact or np.isnan(half) else f" ± {half:,.0f}"
    return "What it earns", (
        f"{earned:,.0f}{interval} over the whole time, where a repaid loan counts {chain.reward_repaid:g} and a "
        f"default {chain.reward_default:g}. No policy that accepts as large a share of every group's repayers can earn "
        f"more than {bound:,.0f}; this one stays {regret:,.0f} below{share}.{rule}"
    )


def _what_is_possible(result: AuditResult) -> Statement | None:
    now, possible = result.row.smallest_recall, result.fairest_at_this_return
    if not possible > now + 0.005:
        return None
    return "What is possible without earning less", (
        f"Some policy earns no less and accepts at least {_percent(possible)} of the repayers of every group; here the "
        f"worst-off group has {_percent(now)}. It may decide differently at equal scores and change over time."
    )


def _use_of_group(result: AuditResult) -> Statement | None:
    if not result.looks_at_group:
        return None
    return "What it looks at", (
        "The policy treats people with equal scores differently by group. In many places a lender may not do that, "
        "whatever the outcome; in the United States the Equal Credit Opportunity Act forbids it for race, sex, age and "
        "more."
    )


def certificate_sentences(result: AuditResult) -> list[str]:
    """What the certificate proves."""
    if isinstance(result.certificate, Estimate):
        estimate = result.certificate
        one, other = (result.names[group] for group in estimate.groups)
        low, high = estimate.interval
        return [
            f"There is no proof for this policy, only an estimate from the simulation. {estimate.reason}",
            f"The lender's result per person differs most between group {one} and group {other}: by "
            f"{estimate.gap:.3g}, 95% interval {low:.3g} to {high:.3g}.",
        ]
    entry = result.certificate.entry("loans", "episode")
    if len(entry.values) == 1:
        return [entry.explanation]
    g, h = entry.groups
    one, other = result.names[g], result.names[h]
    return [
        "These figures are computed, not simulated: they hold exactly for these people under the assumptions at the "
        "end of the page.",
        f"A person of group {one} can expect {entry.values[g]:.2f} loans over the whole time, one of group {other} "
        f"{entry.values[h]:.2f}: {entry.gap:.2f} {'fewer' if entry.values[h] < entry.values[g] else 'more'}.",
        *_bound_sentences(result, entry),
    ]


def _bound_sentences(result: AuditResult, entry: CertificateEntry) -> list[str]:
    if np.isnan(entry.bound):
        return [entry.explanation]
    g, h = (result.names[group] for group in entry.groups)
    sentences = [
        f"Averages can hide differences that cancel. Match the people of group {g} and group {h} at the start as well "
        f"as possible and follow every pair: the numbers of loans of the two differ by {entry.bound:.2f} on average."
    ]
    if entry.slack > 0.01 * entry.bound:
        sentences.append(
            f"The groups' averages show {entry.gap:.2f} of that. The rest cancels: {entry.over_time:.2f} between "
            f"better and worse times of the same pair, {entry.between_people:.2f} between pairs that favour one group "
            "and pairs that favour the other."
        )
    else:
        sentences.append("The groups' averages show all of it: nothing cancels.")
    if entry.worst_pair is not None and entry.worst_distance > 0:
        one, other = (score_names(result.env)[score] for score in entry.worst_pair)
        sentences.append(
            f"Of those matched, a person of group {g} with score {one} and one of group {h} with score {other} differ "
            f"most: by {entry.worst_distance:.2f} loans."
        )
    return sentences


def frontier_sentences() -> list[str]:
    """How to read the figure of the frontier."""
    return [
        "Horizontal axis: the share of repayers that is accepted in the worst-off group. Vertical axis: what the "
        "policy earns. The solid line is the provable optimum at each level; nothing lies above it. The dashed line is "
        "the best found among policies that look at score and group only.",
        "Fairness costs a lender something only along the line. A policy below it could earn more, be fairer, or both.",
    ]


def assumptions(result: AuditResult) -> list[str]:
    """What the simulation assumes."""
    chain, edges = result.chain, result.env.params.score_edges
    unit = " bins" if edges else ""
    sentences = [
        "Whether somebody repays depends on the group and on the score at that time"
        + (", and on a hidden trait of the person" if chain.has_hidden_type else "")
        + ". The rates stay as they were in the data.",
        f"A repaid loan raises the score by {chain.score_up}{unit}, a default lowers it by {chain.score_down}{unit}, "
        "the same for everybody; a rejection leaves it as it is. Scores stay within their range.",
        "Everybody applies equally often, whatever happened before; nobody joins or leaves; all loans are alike.",
        f"A repaid loan is worth {chain.reward_repaid:g} to the lender and a default {chain.reward_default:g}.",
        "Repayment rates come from people who had loans. Those who were never given one may repay better or worse, and "
        "what counts as a default may have been recorded differently for different groups.",
        "Who of the rejected would have repaid is known only in a simulation.",
    ]
    if edges:
        widths = np.diff(edges)
        size = (
            f"{widths.min():g}"
            if np.ptp(widths) < 1e-6 * widths.max()
            else f"{widths.min():g} to {widths.max():g}"
        )
        sentences.insert(
            0, f"Scores are put in {len(widths)} bins of {size} points; within a bin all people are alike."
        )
    return sentences


def caveats() -> list[str]:
    return [
        "This is a simulation based on data, not a forecast for any person or lender.",
        "Equal figures are not fairness, and unequal ones are no proof of discrimination. The four-fifths rule comes "
        "from United States guidelines on employment; it is a rule of thumb, not a legal test of lending.",
        "The page does not say what the law requires. It shows what a policy would lead to if the assumptions held.",
    ]


def _with_interval(result: AuditResult, column: str, shares: Float[Values, "G"], g: int) -> str:
    """A group's share; with the half width of its 95% interval if it is simulated."""
    half = result.groups[column][1][g]
    return _percent(shares[g]) + ("" if result.is_exact or np.isnan(half) else f" ± {100 * half:.1f}%")


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if 0 < share < 0.1 or 0.9 < share < 1 else f"{100 * share:.0f}%"
