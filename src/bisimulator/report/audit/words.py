"""An audit in sentences that need no knowledge of the method."""

from __future__ import annotations

import numpy as np

from bisimulator.report.audit.finding import Audit

FOUR_FIFTHS = 0.8  # of the highest acceptance rate: a rule of thumb for adverse impact
_ALIKE = 0.02  # of a difference: less is no change worth a word


def findings(found: Audit) -> list[tuple[str, str]]:
    """Title and text of each."""
    said = [_who_is_accepted(found), _who_is_turned_away(found), _where_people_end_up(found)]
    if found.env.num_groups == 1:
        said = []
    return [finding for finding in [*said, _what_it_earns(found), _what_could_be_had(found)] if finding]


def _who_is_accepted(found: Audit) -> tuple[str, str]:
    names, rate = found.names, found.groups["approval_rate"]
    most, least = int(np.nanargmax(rate)), int(np.nanargmin(rate))
    title = "Who is accepted"
    if rate[most] == 0:
        return title, "Nobody is accepted."
    ratio = rate[least] / rate[most]
    verdict = "at or above" if ratio >= FOUR_FIFTHS else "below"
    return title, (
        f"{rate[most]:.0%} of the applications of {names[most]} and {rate[least]:.0%} of those of {names[least]} are "
        f"accepted. The lower rate is {ratio:.2f} of the higher, {verdict} the four fifths that a common rule of thumb "
        "asks for."
    )


def _who_is_turned_away(found: Audit) -> tuple[str, str] | None:
    names, recall = found.names, found.groups["recall"]
    if not np.isfinite(recall).any():
        return None
    most, least = int(np.nanargmax(recall)), int(np.nanargmin(recall))
    return "Who is turned away although they would repay", (
        f"{1 - recall[least]:.0%} of {names[least]} who would repay are rejected, against {1 - recall[most]:.0%} of "
        f"{names[most]}."
    )


def _where_people_end_up(found: Audit) -> tuple[str, str]:
    start, end = found.groups["score_start"], found.groups["score_end"]
    before, after = float(np.ptp(start)), float(np.ptp(end))
    way = "as far apart as they were"
    if abs(after - before) > _ALIKE * before:
        way = "further apart" if after > before else "closer together"
    moves = "; ".join(f"{n} {a:.4g} to {b:.4g}" for n, a, b in zip(found.names, start, end, strict=True))
    return "Where people end up", (
        f"The groups end {way}: the largest difference of average scores between two groups is {before:.3g} at the "
        f"start and {after:.3g} at the end ({moves})."
    )


def _what_it_earns(found: Audit) -> tuple[str, str]:
    p, earned, regret = found.env.params, found.point.average_return, found.regret
    bound = earned + regret
    share = f" ({regret / bound:.1%})" if bound > 0 else ""
    return "What it earns", (
        f"{earned:,.0f} in a simulated episode, where a repaid loan counts {float(p.reward_repaid):g} and a default "
        f"{float(p.reward_default):g}. No policy that accepts as many of every group's repayers can earn more than "
        f"{bound:,.0f}: this one leaves {regret:,.0f}{share}."
    )


def _what_could_be_had(found: Audit) -> tuple[str, str] | None:
    now, could = min(found.point.recalls), found.fairest_at_this_return
    if not could > now + 0.005:
        return None
    return "What could be had for the same money", (
        f"A policy exists that earns no less and accepts at least {could:.0%} of those who would repay in every group; "
        f"under this one the worst-off group has {now:.0%}."
    )
