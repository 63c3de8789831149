"""Numbers over an assumption are those of an environment with that value."""

import dataclasses

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing.group_numbers import PolicyRow
from bisimulator.auditing.sensitivity import (
    Sweep,
    SweptPoint,
    below_four_fifths,
    findings_in_words,
    looked_at,
    rate_ranges,
    sweep_assumptions,
)
from bisimulator.auditing.thresholds import from_thresholds
from bisimulator.exact.chain import expect


def test_each_point_is_the_same_decisions_with_one_other_setting(result, env):
    sweeps = {sweep.name: sweep for sweep in result.sweeps}
    changes = {
        "How far a repaid loan raises a score": lambda value: {"score_up": int(value)},
        "How far a default lowers a score": lambda value: {"score_down": int(value)},
        "What a default costs": lambda value: {"reward_default": -value},
        "How often people apply": lambda value: {"horizon": round(200 * value)},
    }
    assert list(sweeps) == list(changes)
    accept = result.consequences.accept
    for name, change in changes.items():
        assert sweeps[name].now in sweeps[name].values
        for point in (sweeps[name].points[0], sweeps[name].points[-1]):
            other = bisimulator.make("lending", **{**env.settings, **change(point.value)})
            expected = expect(other, accept)
            assert point.row.earned == pytest.approx(expected.average_return)
            np.testing.assert_allclose(point.row.recalls, expected.recall)
            assert point.accept_all_earns == pytest.approx(expect(other, np.ones((2, 4))).average_return)


def test_bins_stay_split(env):
    audited = from_thresholds("500", env)
    accept = np.array([[0, 0, 0, 1, 1, 1, 1, 1]] * 2, float)  # every bin of 450 to 600 is split at a third
    assert audited.env.params.num_scores == 8
    cost = sweep_assumptions(audited, accept)[2]
    now = next(point for point in cost.points if point.value == cost.now)
    assert now.row.earned == pytest.approx(expect(audited.env, accept).average_return)


def swept(ratios, now):
    points = [
        SweptPoint(float(k), PolicyRow("", 0.0, (1.0, r), (0.5, 0.5), (1.0, 2.0)), 1.0)
        for k, r in enumerate(ratios)
    ]
    return Sweep("What a default costs", "times", float(now), tuple(points))


def test_a_finding_holds_around_the_audit_s_value():
    sweep = swept([0.7, 0.9, 0.7, 0.75, 0.85], now=3)
    assert sweep.holds(below_four_fifths) == (2.0, 3.0)
    words = findings_in_words([sweep], start_gap=0.5, groups=2)
    assert words == [
        "The lower acceptance rate is below .80 of the higher: it stays so if what a default costs is 2 to 3 times.",
        "The groups end further apart than they began: it stays so for all values looked at.",
        "Accepting everybody would earn more: it stays so for all values looked at.",
    ]
    assert "what a default costs, 0 to 4 times (in this audit 3)" in looked_at([sweep])


def test_policies_without_a_table_of_scores_have_no_sweeps(result):
    simulated = dataclasses.replace(result.consequences, accept=None)
    assert dataclasses.replace(result, consequences=simulated).sweeps == ()


def people_of(number, rng):
    score = rng.integers(300, 851, number)
    group = rng.choice(["a", "b"], number, p=[0.6, 0.4])
    chance = score / 900 - 0.06 * (group == "b")
    paid = (rng.random(number) < chance).astype(int)
    return bisimulator.Population.from_frame(
        {"group": group, "score": score, "repaid": paid}, bins=5, score_range=(300, 850)
    )


def test_repayment_estimates_are_swept_over_their_intervals():
    """Each end is the environment with rates at that end; fewer people leave more open."""
    rng = np.random.default_rng(0)
    widths, settings = [], {"reward_default": -2, "population": 100, "horizon": 500}
    accept = np.tile([0.0, 0, 0, 1, 1], (2, 1))  # from 630 on
    for number in (500, 5000):
        people = people_of(number, rng)
        audited = from_thresholds("630", people.make(**settings))
        swept = sweep_assumptions(audited, accept, rate_ranges(people))
        together, apart = (s for s in swept if "repay" in s.name and "loan" not in s.name)
        assert (together.unit, apart.unit) == ("percent", "points, from the first group")
        estimate = 100 * (people.repayment * people.people).sum() / people.people.sum()
        assert together.now == pytest.approx(estimate, abs=0.06)
        difference = people.differences[0]
        assert apart.now == pytest.approx(100 * difference.estimate, abs=1.5)  # the model's, before shrinkage
        assert apart.ends == pytest.approx((100 * difference.low, 100 * difference.high), abs=1.5)
        for sweep, key in ((together, "together"), (apart, "apart")):
            for place, point in ((-1, sweep.points[0]), (1, sweep.points[-1])):
                moved = people.within_intervals(**{key: place}).make(**settings)
                assert point.row.earned == pytest.approx(expect(moved, accept).average_return)
        widths.append(np.diff(together.ends)[0])
    assert widths[0] / widths[1] == pytest.approx(10**0.5, rel=0.15)
    assert "how often people repay" in looked_at(swept)
