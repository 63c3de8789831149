"""The people of the UCI table compared with the table they are counted in."""

import numpy as np
import pytest

import bisimulator
from bisimulator.envs import uci_default
from bisimulator.envs._real_people import read_data


def test_people_and_rates_are_those_of_the_table():
    table = read_data("uci_credit_default.csv")
    counts = {
        (group, int(score)): (int(people), int(defaulted))
        for group, score, people, defaulted in zip(*table.values(), strict=True)
    }
    population = uci_default.people()
    assert population.group_names == ("women", "men")
    assert population.people.sum() == 30_000
    for g, name in enumerate(population.group_names):
        for score in range(7):
            people, defaulted = counts[name, score]
            assert population.people[g, score] == people
            assert population.repayment[g, score] == pytest.approx(1 - defaulted / people)


def test_one_month_moves_a_score_by_one_and_a_default_costs_four_loans():
    params = bisimulator.make("lending-uci-default").params
    assert params.num_scores == 7
    assert (int(params.score_up), int(params.score_down)) == (1, 1)
    assert (float(params.reward_repaid), float(params.reward_default)) == (1, -4)
    np.testing.assert_allclose(params.group_probs, np.array([18_112, 11_888]) / 30_000, atol=1e-6)


def test_groups_and_parameters_can_be_chosen():
    assert bisimulator.make("lending-uci-default", groups=["men", "women"]).group_names == ("men", "women")
    assert bisimulator.make("lending-uci-default", groups=1).group_names == ("women",)
    assert float(bisimulator.make("lending-uci-default", reward_default=-2).params.reward_default) == -2
    with pytest.raises(ValueError, match=r"groups must be at most 2 \(women, men\), got 3"):
        bisimulator.make("lending-uci-default", groups=3)
    with pytest.raises(ValueError, match="Unknown group 'man'"):
        bisimulator.make("lending-uci-default", groups=["man"])
