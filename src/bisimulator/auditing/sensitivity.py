"""Over which values of an assumption a finding holds: the same decisions with other moves, costs, visits and rates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from bisimulator.auditing.audited_policy import AuditedPolicy, with_true_scores
from bisimulator.auditing.group_numbers import PolicyRow, exact_numbers, row_of
from bisimulator.auditing.words import FOUR_FIFTHS
from bisimulator.core import Env, Values, make
from bisimulator.exact.chain import Expectation, expect, person_chain
from bisimulator.exact.kinds import Kinds, expect_kinds
from bisimulator.people._bins import equally_wide
from bisimulator.people.population import Population

_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the cost of a default
_VISITS = (0.5, 1.0, 2.0)  # of the applications per person
_PLACES = (-1.0, -0.5, 0.0, 0.5, 1.0)  # within a 95% interval, from its lower to its upper end
_FURTHER = 1.02  # times the difference at the start; less is no change worth a word

Accept: TypeAlias = Float[Values, "G C"] | Kinds  # pi(accept | group, score), or decisions on kinds of people


class SweptPoint(NamedTuple):
    """The audited policy with another value of an assumption."""

    value: float
    row: PolicyRow
    accept_all_earns: float


class RateRange(NamedTuple):
    """Repayment rates that the data allow, by a number that sums them up."""

    name: str
    unit: str
    now: float  # of the estimates
    rates: Mapping[float, Float[Values, "G C"]]


def rate_ranges(people: Population) -> tuple[RateRange, ...]:
    """Repayment rates within their 95% intervals: of all groups together, and of groups compared with the first."""
    return tuple(_rate_ranges(people)) if people.has_intervals else ()


def _rate_ranges(people: Population) -> Iterator[RateRange]:
    counts = people.people

    def level(rates: Float[Values, "G C"]) -> float:
        return round(100 * float((rates * counts).sum() / counts.sum()), 1)

    def difference(rates: Float[Values, "G C"]) -> float:
        at_equal_scores = rates @ counts.sum(0) / counts.sum()
        others = np.average(at_equal_scores[1:], weights=counts[1:].sum(1))
        return round(100 * float(others - at_equal_scores[0]), 1)

    def swept(name: str, unit: str, measure: Callable[..., float], key: str) -> RateRange:
        moved = [people.within_intervals(**{key: place}).repayment for place in _PLACES]
        return RateRange(name, unit, measure(people.repayment), {measure(rates): rates for rates in moved})

    yield swept("How often people repay", "percent", level, "together")
    if len(counts) > 1:
        unit = "points, from the first group"
        yield swept("How far groups' repayment differs", unit, difference, "apart")


@dataclasses.dataclass(frozen=True, eq=False)
class Sweep:
    """One assumption at several values; everything else is as in the audit."""

    name: str
    unit: str  # of the values
    now: float  # the value of the audit
    points: tuple[SweptPoint, ...]  # by ascending value

    @property
    def values(self) -> Float[Values, "K"]:
        return np.array([point.value for point in self.points])

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value looked at."""
        return self.points[0].value, self.points[-1].value

    def holds(self, finding: Callable[[SweptPoint], bool]) -> tuple[float, float]:
        """The values around the audit's for which a finding is the same as there."""
        values = [point.value for point in self.points]
        same = [finding(point) for point in self.points]
        here = int(np.argmin(abs(self.values - self.now)))
        low = high = here
        while low > 0 and same[low - 1] == same[here]:
            low -= 1
        while high < len(same) - 1 and same[high + 1] == same[here]:
            high += 1
        return values[low], values[high]

    def __repr__(self) -> str:
        return f"Sweep({self.name}: {self.values.min():g} to {self.values.max():g} {self.unit}, now {self.now:g})"


def below_four_fifths(point: SweptPoint) -> bool:
    return point.row.acceptance_ratio < FOUR_FIFTHS


def further_apart(start_gap: float) -> Callable[[SweptPoint], bool]:
    return lambda point: point.row.score_gap > _FURTHER * start_gap


def accept_all_earns_more(point: SweptPoint) -> bool:
    return point.accept_all_earns > point.row.earned


def sweep_assumptions(
    audited: AuditedPolicy, accept: Accept, ranges: Sequence[RateRange] = ()
) -> tuple[Sweep, ...]:
    """The exact numbers of the same decisions over each assumption that the data do not tell, or not exactly.

    Args:
        audited: the policy and its people.
        accept: its decisions, in the bins of the policy.
        ranges: repayment rates that the data allow.
    """
    env = with_true_scores(audited.people_env)
    chain = person_chain(env)
    sweeps = []
    if chain.shifts is not None:
        for setting, name, now in zip(
            ("score_up", "score_down"),
            ("How far a repaid loan raises a score", "How far a default lowers a score"),
            chain.shifts,
            strict=True,
        ):
            steps = sorted({0, now // 2, now, now + 1, 2 * now})
            sweeps.append(
                _sweep(
                    audited,
                    accept,
                    name,
                    _unit_of_moves(env),
                    now,
                    {float(s): {setting: int(s)} for s in steps},
                )
            )
    gain, cost = chain.reward_repaid, -chain.reward_default
    if gain > 0 and cost > 0:
        costs = {f * cost / gain: {"reward_default": -f * cost} for f in _FACTORS}
        unit = "times what a repaid loan earns"
        sweeps.append(_sweep(audited, accept, "What a default costs", unit, cost / gain, costs))
    for each in ranges:
        if len(each.rates) > 1:
            rates = {value: {"repayment": rate.tolist()} for value, rate in each.rates.items()}
            sweeps.append(_sweep(audited, accept, each.name, each.unit, each.now, rates))
    visits = {
        round(f * chain.horizon) / chain.population: {"horizon": max(round(f * chain.horizon), 1)}
        for f in _VISITS
    }
    often = chain.horizon / chain.population
    sweeps.append(_sweep(audited, accept, "How often people apply", "times each", often, visits))
    return tuple(sweeps)


def _unit_of_moves(env: Env) -> str:
    edges = np.array(env.params.score_edges)
    if not edges.size:
        return "points"
    return f"bins of {np.diff(edges).mean():.4g} points" if equally_wide(edges) else "bins"


def _sweep(
    audited: AuditedPolicy,
    accept: Accept,
    name: str,
    unit: str,
    now: float,
    settings: Mapping[float, Mapping[str, object]],
) -> Sweep:
    points = [_point(audited, accept, value, change) for value, change in sorted(settings.items())]
    return Sweep(name, unit, float(now), tuple(points))


def _point(audited: AuditedPolicy, accept: Accept, value: float, change: Mapping[str, object]) -> SweptPoint:
    env = _with_settings(audited, change)
    expectation = _expect(env, accept)
    everybody = expect(env, np.ones((env.num_groups, env.params.num_scores))).average_return
    row = row_of(audited.name, expectation.average_return, exact_numbers(env, expectation))
    return SweptPoint(value, row, everybody)


def _expect(env: Env, accept: Accept) -> Expectation:
    return expect_kinds(env, accept)[0] if isinstance(accept, Kinds) else expect(env, accept)


def _with_settings(audited: AuditedPolicy, change: Mapping[str, object]) -> Env:
    """The policy's environment with other settings, its bins split as they are."""
    people = audited.people_env
    settings = {name: value for name, value in people.settings.items() if name != "omega"}
    env = make(people.name, **(settings | dict(change)))
    model, fine = env.scenario.person_model, audited.env.params
    assert model is not None
    if fine.num_scores == env.params.num_scores:
        return env
    assert model.split_scores is not None
    initial = model.chain(fine).initial
    return dataclasses.replace(env, params=model.split_scores(env.params, initial, fine.score_edges))


def findings_in_words(sweeps: Sequence[Sweep], start_gap: float, groups: int) -> list[str]:
    """Each finding, and for which values of every assumption it holds."""
    first = next(p for p in sweeps[-1].points if p.value == sweeps[-1].now)
    found: list[tuple[str, Callable[[SweptPoint], bool]]] = []
    if groups > 1 and not np.isnan(first.row.acceptance_ratio):
        side = "below" if below_four_fifths(first) else "not below"
        found.append((f"The lower acceptance rate is {side} .80 of the higher", below_four_fifths))
    if groups > 1:
        apart = further_apart(start_gap)
        words = (
            "end further apart than they began"
            if apart(first)
            else "do not end further apart than they began"
        )
        found.append((f"The groups {words}", apart))
    if (first.row.rates and min(first.row.rates) < 1) or groups == 1:
        more = "more" if accept_all_earns_more(first) else "no more"
        found.append((f"Accepting everybody would earn {more}", accept_all_earns_more))
    return [f"{words}: {_where(sweeps, finding)}." for words, finding in found]


def _where(sweeps: Sequence[Sweep], finding: Callable[[SweptPoint], bool]) -> str:
    """For which values it stays so."""
    limited = []
    for sweep in sweeps:
        low, high = sweep.holds(finding)
        if (low, high) != sweep.ends:
            value = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            limited.append(f"if {sweep.name[0].lower()}{sweep.name[1:]} is {value} {sweep.unit}")
    if not limited:
        return "it stays so for all values looked at"
    others = ", and for all values looked at of the others" if len(limited) < len(sweeps) else ""
    return f"it stays so {'; '.join(limited)}{others}"


def looked_at(sweeps: Sequence[Sweep]) -> str:
    """The values of every assumption, in a sentence."""
    each = [
        f"{sweep.name[0].lower()}{sweep.name[1:]}, {sweep.ends[0]:g} to {sweep.ends[1]:g} {sweep.unit} (in this audit "
        f"{sweep.now:g})"
        for sweep in sweeps
    ]
    values = "; ".join(each)
    return (
        f"The same decisions with one assumption changed at a time; exact expectations. Looked at: {values}."
    )
