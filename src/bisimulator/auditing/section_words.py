"""The sections of an audit's page in sentences, for readers who do not know the method."""

from __future__ import annotations

import numpy as np

from bisimulator.auditing.analysis import AuditResult
from bisimulator.core import Env, PersonChain
from bisimulator.evaluation.certify import Estimate
from bisimulator.exact.certificate import CertificateEntry
from bisimulator.report.certificates import score_names
from bisimulator.report.text import move_in_words


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
    """What the numbers assume."""
    chain, env = result.chain, result.audited.people_env
    edges = env.params.score_edges
    sentences = [
        "Whether somebody repays depends on the group and on the score at that time"
        + (", and on a hidden trait of the person" if chain.has_hidden_type else "")
        + ". The rates stay as they were in the data.",
        _score_moves(env, chain),
        "Everybody applies equally often, whatever happened before; nobody joins or leaves; all loans are alike.",
        f"A repaid loan is worth {chain.reward_repaid:g} to the lender and a default {chain.reward_default:g}.",
        _whose_rates(result),
        "What counts as a default may have been recorded differently for different groups.",
    ]
    if edges:
        widths = np.diff(edges)
        size = (
            f"{widths.min():g}"
            if np.ptp(widths) < 1e-6 * widths.max()
            else f"{widths.min():g} to {widths.max():g}"
        )
        sentences.insert(
            0, f"Scores are put in {len(widths)} bins of {size} points; within a bin all people repay alike."
        )
    return sentences


def _whose_rates(result: AuditResult) -> str:
    if result.rejected is None:
        return (
            "Repayment rates are those of the people in the data, who are taken to stand for all. If these are people "
            "who were given loans, those who were not may repay better or worse; name the column of past decisions "
            "(accepted) to see what that leaves open."
        )
    return (
        "Repayment rates are those of people whom past decisions accepted. The section on past decisions shows what "
        "becomes of the numbers if those who were rejected repay less often; that they repay more often is not "
        "looked at."
    )


def _score_moves(env: Env, chain: PersonChain) -> str:
    if chain.shifts is None:
        moves = (
            "A repaid loan and a default move the score at random, by a table that is the same for everybody"
        )
        rejected = "a rejection leaves it as it is" if chain.rejected_stay else "a rejection may move it, too"
        return f"{moves}; {rejected}."
    up, down = (move_in_words(env, move) for move in chain.shifts)
    return (
        f"A repaid loan raises the score by {up}, a default lowers it by {down}, the same for everybody; a rejection "
        "leaves it as it is. Scores stay within their range."
    )


def caveats() -> list[str]:
    return [
        "This is a model based on data, not a forecast for any person or lender.",
        "Equal figures are not fairness, and unequal ones are no proof of discrimination. The four-fifths rule comes "
        "from United States guidelines on employment; it is a rule of thumb, not a legal test of lending.",
        "The page does not say what the law requires. It shows what a policy would lead to if the assumptions held.",
    ]
