"""The summary of an audit in sentences, for readers who do not know the method."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from bisimulator.auditing.alternatives import Alternative
from bisimulator.auditing.analysis import AuditResult
from bisimulator.auditing.decision_words import alternative_in_words, difference_in_words
from bisimulator.auditing.rejected_words import alternative_range, between, open_range, what_is_unknown
from bisimulator.auditing.words import FOUR_FIFTHS, Statement, percent, plus_minus, score_form
from bisimulator.core import Values
from bisimulator.evaluation import mean_and_interval

_SMALL_CHANGE = 0.02  # of a difference; less is no change worth a word


def summary_statements(result: AuditResult) -> list[Statement]:
    """The summary at the top of the page."""
    between_groups = [_who_is_accepted, _who_is_rejected, _where_scores_end] if len(result.names) > 1 else []
    statements = [
        write(result)
        for write in (
            what_is_unknown,
            *between_groups,
            _what_it_earns,
            _accepting_everybody,
            _what_is_possible,
            _use_of_group,
        )
    ]
    return [*_goals(result), *(statement for statement in statements if statement is not None)]


def summary_note(result: AuditResult) -> str:
    """Where the numbers of the summary come from."""
    if result.audited.kinds is not None:
        return (
            "All numbers of this page are exact expectations under its assumptions, for people drawn from the data "
            "with all their columns; nothing is simulated. At equal score and group everybody is taken to repay alike, "
            "whatever else the model looks at."
        )
    if result.is_exact:
        return "All numbers of this page are exact expectations under its assumptions; nothing is simulated."
    return (
        "This policy's numbers are simulated; ± is the half width of the 95% interval over seeds. Bounds, and the "
        "numbers of simple policies, are exact."
    )


def _who_is_accepted(result: AuditResult) -> Statement | None:
    names, rate = result.names, np.array(result.row.rates)
    if np.isnan(rate).any():
        return None
    highest, lowest = int(rate.argmax()), int(rate.argmin())
    title = "Who is accepted"
    if rate[highest] == 0:
        return title, "Nobody is accepted."
    if percent(rate[highest]) == percent(rate[lowest]) and result.is_exact:
        return title, f"{percent(rate[highest])} of applications are accepted, in every group."
    ratio = rate[lowest] / rate[highest]
    verdict = "not below" if ratio >= FOUR_FIFTHS else "below"
    half = plus_minus(_ratio_half_width(result, lowest, highest), ".2f")
    return title, (
        f"{_share(result, 'approval_rate', rate, highest)} of applications are accepted in group "
        f"{names[highest]} and {_share(result, 'approval_rate', rate, lowest)} in group {names[lowest]}. The "
        f"lower rate is {ratio:.2f}{half} of the higher, {verdict} the .80 of the four-fifths rule of thumb."
    )


def _ratio_half_width(result: AuditResult, lowest: int, highest: int) -> float:
    """Of the 95% interval of the ratio of two groups' simulated acceptance rates."""
    evaluation = result.consequences.evaluation
    if evaluation is None:
        return math.nan
    low, high = (evaluation.episodes[f"approval_rate_g{g + 1}"] for g in (lowest, highest))
    ratio = np.divide(low, high, out=np.full_like(low, np.nan), where=high > 0)
    return mean_and_interval(ratio)[1]


def _who_is_rejected(result: AuditResult) -> Statement | None:
    names, recall = result.names, np.array(result.row.recalls)
    if not np.isfinite(recall).any():
        return None
    highest, lowest = int(np.nanargmax(recall)), int(np.nanargmin(recall))
    title, begin = (
        "Who is rejected although they would repay",
        "Of the applications of people who would repay, ",
    )
    if percent(1 - recall[lowest]) == percent(1 - recall[highest]) and result.is_exact:
        return title, f"{begin}{percent(1 - recall[lowest])} are rejected, in every group."
    worst, best = (_share(result, "recall", 1 - recall, g, complement=True) for g in (lowest, highest))
    return title, (
        f"{begin}{worst} are rejected in group {names[lowest]}, against {best} in group {names[highest]}."
    )


def _where_scores_end(result: AuditResult) -> Statement:
    start, (end, half) = result.start_scores, (np.array(result.row.scores), result.groups["score_end"][1])
    before, after = float(np.ptp(start)), float(np.ptp(end))
    change = "about as far apart as they began"
    if abs(after - before) > _SMALL_CHANGE * max(before, 1e-9):
        change = "further apart than they began" if after > before else "closer together than they began"
    form = score_form(float(start.min()))
    moves = ", ".join(
        f"{n} from {start[g]:{form}} to {end[g]:{form}}{plus_minus(half[g], '.2g')}"
        + open_range(result, "score_end", g, form)
        for g, n in enumerate(result.names)
    )
    return "Where people end up", (
        f"The groups end {change}: the largest difference between two groups' average scores is {before:{form}} at "
        f"the start and {after:{form}} at the end ({moves})."
    )


def _what_it_earns(result: AuditResult) -> Statement:
    chain, earned, regret = result.chain, result.earned, result.regret
    bound = earned + regret
    share = f", or {percent(regret / bound)}" if bound > 0 else ""
    compared = f"this one stays {regret:,.0f} below{share}."
    if 0 <= regret < 0.5:
        compared = "this one earns as much."
    elif regret < 0:
        compared = "the simulated mean lies above this bound, which can only be by chance."
    rule = ""
    if result.equal_rule:
        like = "It decides exactly" if result.is_exact else "In every simulated episode it decides"
        rule = f" {like} like the rule {result.equal_rule}."
    unknown = "" if result.rejected is None else f" ({between(result.rejected.policy.earned, ',.0f')})"
    half = plus_minus(result.consequences.earned_half_width, ",.0f")
    return "What it earns", (
        f"{earned:,.0f}{half}{unknown} over the whole time, where a repaid loan counts {chain.reward_repaid:g} and a "
        f"default {chain.reward_default:g}. No policy that accepts as large a share of every group's "
        f"repayers can earn more than {bound:,.0f}; {compared}{rule}"
    )


def _accepting_everybody(result: AuditResult) -> Statement | None:
    """The verdict that more is possible says little if accepting everybody is enough."""
    everybody = result.accept_all
    if everybody.earned < result.earned or "accept-all" in (result.audited.name, result.equal_rule):
        return None
    times = _ratio(-result.chain.reward_default, result.chain.reward_repaid)
    return "Accepting everybody would earn more", (
        f"Lending to everybody would earn {everybody.earned:,.0f} and reject nobody; that more is possible only "
        f"restates this. A default costs {times} what a repaid loan earns here, and a repaid loan also raises the "
        "score for the next one. If lending to everybody is no option in reality, these numbers make default too "
        "cheap: set what it costs (reward_default) and how far it lowers a score (score_down), and audit again."
    )


def _ratio(cost: float, gain: float) -> str:
    return f"{cost / gain:.3g} times" if gain > 0 else "more than"


def _what_is_possible(result: AuditResult) -> Statement | None:
    now, possible, fairer = result.row.smallest_recall, result.fairest_at_this_return, result.fairer
    title = "What is possible without earning less"
    if fairer is None and not possible > now + 0.005:
        return None
    limit = (
        f"No policy that earns as much, even if it changes over time, can guarantee every group's repayers more than "
        f"{percent(possible)}."
    )
    if fairer is None:
        return title, f"No policy by score and group was found that is fairer and earns no less. {limit}"
    return title, (
        f"{alternative_in_words(fairer)} That earns {fairer.row.earned:,.0f} and accepts at least "
        f"{percent(fairer.row.smallest_recall)} of the repayers of every group; here the worst-off group has "
        f"{percent(now)}.{alternative_range(result, 'fairer_policy')}{_compared(result, fairer)} {limit}"
    )


def _compared(result: AuditResult, alternative: Alternative) -> str:
    """How an alternative differs from the audited policy."""
    caution = ""
    if (abs(alternative.table - alternative.table[0]) > 0).any() and len(result.names) > 1:
        caution = (
            " It treats people with equal scores differently by group; group_blind names one that does not."
        )
    if result.table is None:
        return caution
    parts = result.table.shape[1] // alternative.table.shape[1]
    split = np.repeat(alternative.table, parts, axis=1)
    difference = difference_in_words(split, result.table, result.env)
    return (f" Compared with the audited policy, {difference}." if difference else "") + caution


def _goals(result: AuditResult) -> list[Statement]:
    """Whether the user's goals are met, and the best policies that meet them."""
    statements = []
    for goal in result.goals:
        reached, half = goal.reached
        verdict = "met" if goal.met else "missed"
        asked = goal.demand.summary.replace("the level", f"{goal.demand.level:g}")
        text = f"Asked: {asked}. Reached: {reached:.3g}{plus_minus(half, '.2g')}; the goal is {verdict}."
        if goal.alternative is None:
            text += " No policy by score and group was found that meets it."
        else:
            found, change = goal.alternative, goal.alternative.row.earned - result.earned
            text += (
                f" The best policy found that meets it: {_lower_first(alternative_in_words(found))} That earns "
                f"{found.row.earned:,.0f}, {abs(change):,.0f} {'more' if change >= 0 else 'less'} than the audited "
                f"policy; no policy that meets it can earn more than {found.bound:,.0f}."
                f"{alternative_range(result, f'policy_for_{goal.demand.name}')}{_compared(result, found)}"
            )
        statements.append((f"The goal {goal.demand.text}", text))
    return statements


def _lower_first(text: str) -> str:
    return text[0].lower() + text[1:]


def _use_of_group(result: AuditResult) -> Statement | None:
    if not result.looks_at_group and not result.audited.given_group:
        return None
    looks = (
        "The model is told the group"
        if result.audited.given_group
        else "The policy treats people with equal scores differently by group"
    )
    return "What it looks at", (
        f"{looks}. In many places a lender may not do that, "
        "whatever the outcome; in the United States the Equal Credit Opportunity Act forbids it for race, sex, age and "
        "more."
    )


def _share(
    result: AuditResult, column: str, shares: Float[Values, "G"], g: int, *, complement: bool = False
) -> str:
    """A group's share; with the half width of its 95% interval if it is simulated, and its range over gamma."""
    open_ends = open_range(result, column, g, ".0%", complement=complement)
    return percent(shares[g]) + plus_minus(100 * result.groups[column][1][g], ".1f", "%") + open_ends
