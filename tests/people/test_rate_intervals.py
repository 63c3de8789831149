"""95% intervals of repayment rates: how often they hold what is true, and what is refused."""

import numpy as np
import pytest
from scipy.special import expit, logit

import bisimulator
from bisimulator.people._group_effects import fit_group_effects
from bisimulator.people._rate_intervals import rate_intervals


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    """Groups' levels, and the difference between groups, in 200 samples of 800 people."""
    rng, truth = np.random.default_rng(1), np.array([[0.4, 0.6, 0.8], [0.35, 0.55, 0.75]])
    people = np.array([[150, 200, 150], [100, 120, 80]])
    inside = np.zeros((2, 2))
    for _ in range(200):
        repaid = rng.binomial(people, truth)
        intervals = rate_intervals(fit_group_effects(people, repaid), people)
        rate = (repaid + 0.5) / (people + 1)
        share = people.sum(0) / people.sum()
        error = [(logit(rate[g]) - logit(truth[g])) @ (people[g] / people[g].sum()) for g in (0, 1)]
        inside[0] += np.abs(error) <= intervals.level
        apart = ((logit(rate[1]) - logit(rate[0])) - (logit(truth[1]) - logit(truth[0]))) @ share
        inside[1] += [True, abs(apart) <= intervals.apart[1]]
    assert (inside / 200 >= 0.9).all()
    assert (inside[0] / 200 <= 0.995).all()


def test_moves_are_in_logits_and_nothing_moves_at_zero():
    columns = {"group": ["a", "b"] * 100, "score": [600, 700] * 100, "repaid": [0, 1, 1, 1] * 50}
    people = bisimulator.Population.from_frame(columns, bins=2)
    np.testing.assert_array_equal(people.within_intervals().repayment, people.repayment)
    low, high = (people.within_intervals(together=place).repayment for place in (-1, 1))
    assert (low < people.repayment).all()
    assert (people.repayment < high).all()
    moved = logit(high) - logit(people.repayment)
    np.testing.assert_allclose(expit(logit(low) + 2 * moved), high)
    apart = people.within_intervals(apart=1).repayment
    np.testing.assert_array_equal(apart[0], people.repayment[0])
    assert (apart[1] > people.repayment[1]).all()


def test_one_rate_for_all_groups_has_one_interval():
    columns = {"group": ["a", "b"] * 100, "score": [600, 700] * 100, "repaid": [0, 1, 1, 1] * 50}
    people = bisimulator.Population.from_frame(columns, bins=2, per_group=False)
    low = people.within_intervals(together=-1).repayment
    np.testing.assert_array_equal(low[0], low[1])
    np.testing.assert_array_equal(people.within_intervals(apart=1).repayment, people.repayment)


def test_without_counts_of_people_there_are_no_intervals():
    table = {"group": ["a", "a"], "score": [1, 2], "share": [0.6, 0.4], "late": [0.3, 0.1]}
    people = bisimulator.Population.from_table(table, share="share", default_rate="late", bins=2)
    assert not people.has_intervals
    with pytest.raises(ValueError, match="does not tell how many people there are"):
        people.within_intervals(together=1)


def test_places_outside_of_the_interval_are_refused():
    columns = {"group": ["a", "b"] * 100, "score": [600, 700] * 100, "repaid": [0, 1, 1, 1] * 50}
    people = bisimulator.Population.from_frame(columns, bins=2)
    with pytest.raises(ValueError, match=r"together must lie in \[-1, 1\], got 2"):
        people.within_intervals(together=2)
