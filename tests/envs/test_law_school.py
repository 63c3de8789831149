"""The people of the law school study compared with the tables they are counted in."""

import jax
import numpy as np
import pytest

import bisimulator
from bisimulator.envs import law_school
from bisimulator.envs._real_people import read_data


def test_people_rates_and_incomes_are_those_of_the_tables():
    table = read_data("law_school.csv")
    population = law_school.people()
    assert population.group_names == ("white", "non-white")
    assert population.people.sum() == sum(map(int, table["people"])) == 20_798
    rows = zip(table["group"], table["score"], table["people"], table["passed"], strict=True)
    for group, score, people, passed in rows:
        g, c = population.group_names.index(group), population.edges.tolist().index(float(score))
        assert population.people[g, c] == int(people)
        assert population.repayment[g, c] == pytest.approx(int(passed) / int(people))
    income = read_data("law_school_income.csv")
    levels = np.repeat(np.array(income["income"], float), np.array(income["people"], int))
    names = np.repeat(income["group"], np.array(income["people"], int))
    expected = [
        (levels[names == name].mean(), levels[names == name].std()) for name in population.group_names
    ]
    np.testing.assert_allclose(law_school.incomes(population.group_names), expected)


def test_true_scores_are_drawn_from_the_table():
    env = bisimulator.make("college-law-school", population=20_000)
    people = env.scenario.snapshot(jax.jit(env.scenario.reset)(jax.random.key(100), env.params))
    for g, shares in enumerate(law_school.people().initial):
        scores = np.asarray(people.true_score)[np.asarray(people.group) == g]
        drawn = np.bincount(scores.astype(int), minlength=len(shares)) / len(scores)
        assert abs(drawn - shares).max() < 4 * np.sqrt(0.25 / len(scores))


def test_groups_and_parameters_can_be_chosen():
    env = bisimulator.make("college-law-school", groups=["non-white"], rewards=(1, -1, 0), epsilon=0.2)
    assert env.group_names == ("non-white",)
    assert env.params.rewards.tolist() == [1, -1, 0]
    with pytest.raises(ValueError, match=r"groups must be at most 2 \(white, non-white\), got 4"):
        bisimulator.make("college-law-school", groups=4)


def test_tables_of_a_wrong_shape_are_refused():
    with pytest.raises(ValueError, match="initial"):
        bisimulator.make("college", initial=np.full((2, 9), 1 / 9))
    with pytest.raises(ValueError, match="success"):
        bisimulator.make("college", success=np.full((3, 10), 0.5))
