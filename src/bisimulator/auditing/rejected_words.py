"""What past decisions leave unknown, in sentences and ranges."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from bisimulator.auditing.analysis import AuditResult
from bisimulator.auditing.past_decisions import Range, RejectedRange
from bisimulator.auditing.words import FOUR_FIFTHS, Statement, percent
from bisimulator.core import Values

GAMMA_COLUMNS = (
    "gamma",
    "earned",
    "bound_at_same_recalls",
    "accept_all_earns",
    "smallest_recall",
    "acceptance_ratio",
)


def what_is_unknown(result: AuditResult) -> Statement | None:
    """For the summary: the range of each of its numbers."""
    rejected = result.rejected
    if rejected is None:
        return None
    earned, recall = rejected.policy.earned, rejected.policy.smallest_recall
    return "What past decisions leave unknown", (
        f"Past decisions rejected {percent(rejected.share)} of these people, and nobody knows how they would have "
        f"repaid. {_basis(rejected)} Over this range the policy earns {between(earned, ',.0f')}, and accepts "
        f"{between(recall, '.1%')} of the repayers of the worst-off group."
        f"{_four_fifths(result)}{_accept_all(result)}{_goals(result)}"
    )


def _basis(rejected: RejectedRange) -> str:
    return (
        "A number of this page assumes that they repay as often as the accepted of their group with the same score; a "
        f"range after it is what it becomes if they repay up to {rejected.gamma:g} times less often, in each group by "
        "itself."
    )


def _four_fifths(result: AuditResult) -> str:
    assert result.rejected is not None
    low, high = result.rejected.policy.acceptance_ratio
    if len(result.names) == 1 or math.isnan(low):
        return ""
    sides = {low >= FOUR_FIFTHS, high >= FOUR_FIFTHS}
    verdict = "on the same side of .80 throughout" if len(sides) == 1 else "on either side of .80"
    return f" The lower acceptance rate is {between((low, high), '.2f')} of the higher, {verdict}."


def _accept_all(result: AuditResult) -> str:
    """Up to which gamma accepting everybody earns more; the two are compared at equal gammas."""
    rejected = result.rejected
    assert rejected is not None
    if "accept-all" in (result.audited.name, result.equal_rule):
        return ""
    return f" Accepting everybody would earn {_compared(rejected, rejected.accept_all)}."


def alternative_range(result: AuditResult, name: str) -> str:
    """What a policy that the page names earns over gamma, compared with the audited one; empty without gamma."""
    rejected = result.rejected
    if rejected is None:
        return ""
    over = rejected.alternatives[name]
    return (
        f" Over the range of gamma it earns {between(over.earned, ',.0f')} and accepts at least "
        f"{between(over.smallest_recall, '.1%')} of the repayers of every group; compared with the audited policy it "
        f"earns {_compared(rejected, over.returns)}."
    )


def _compared(rejected: RejectedRange, returns: Float[Values, "K"]) -> str:
    """Whether a policy earns more than the audited one, at equal gammas."""
    more = returns > rejected.policy.returns
    words = {True: "more", False: "less"}
    if more.all() or not more.any():
        return f"{words[bool(more[0])]} over the whole range"
    change = _crossings(rejected.gammas, returns - rejected.policy.returns)[0]
    first = bool(more[0])
    return f"{words[first]} up to a gamma of {change:.3g} and {words[not first]} beyond"


def _crossings(x: Float[Values, "K"], y: Float[Values, "K"]) -> list[float]:
    """Where a line through the points changes its sign."""
    found = np.flatnonzero((y[1:] > 0) != (y[:-1] > 0))
    return [float(x[i] + (x[i + 1] - x[i]) * y[i] / (y[i] - y[i + 1])) for i in found]


def _goals(result: AuditResult) -> str:
    assert result.rejected is not None
    return "".join(
        f" The level reached of the goal {name} is {between((float(levels.min()), float(levels.max())), '.3g')}."
        for name, levels in result.rejected.reached.items()
    )


def rejected_sentences(result: AuditResult) -> list[str]:
    """How to read the figures over gamma."""
    if result.rejected is None:
        return []
    return [
        "Gamma says how many times less often those whom past decisions rejected repay than the accepted of their "
        'group with the same score. At 1 they repay alike ("same score, same repayment"). In every bin of scores, '
        "accepted and rejected people are taken together.",
        "The figures and the table have the same gamma in all groups. Ranges on this page let it differ from group to "
        f"group, from 1 to {result.rejected.gamma:g}. The certificate, the frontier and the search for better policies "
        "assume a gamma of 1.",
    ]


def gamma_rows(rejected: RejectedRange) -> list[tuple[float, ...]]:
    """A row per gamma, in the order of `GAMMA_COLUMNS`; the same gamma in all groups."""
    rate, recall = rejected.policy.groups["approval_rate"], rejected.policy.groups["recall"]
    highest = rate.max(1)
    ratio = np.divide(rate.min(1), highest, out=np.full_like(highest, np.nan), where=highest > 0)
    smallest = np.nanmin(np.where(np.isnan(recall).all(1, keepdims=True), 1.0, recall), axis=1)
    columns = (rejected.gammas, rejected.policy.returns, rejected.bound, rejected.accept_all, smallest, ratio)
    return [tuple(map(float, row)) for row in zip(*columns, strict=True)]


def between(ends: Range, form: str) -> str:
    """`38% to 44%`, or one number if both ends are written alike."""
    low, high = (f"{end:{form}}" for end in ends)
    return low if low == high else f"{low} to {high}"


def open_range(result: AuditResult, column: str, g: int, form: str, *, complement: bool = False) -> str:
    """` (38% to 44%)`: the range of a group's number over gamma; empty if there is none."""
    if result.rejected is None:
        return ""
    low, high = result.rejected.policy.group_range(column, g)
    text = between((1 - high, 1 - low) if complement else (low, high), form)
    return f" ({text})" if " to " in text and not math.isnan(low) else ""
