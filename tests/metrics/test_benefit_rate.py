"""Benefit rates of applicants and of groups, per episode and pooled, and reward per step."""

import numpy as np

from bisimulator.metrics.benefit_rate import METRIC
from bisimulator.metrics.reward_per_step import METRIC as REWARD_PER_STEP
from tests.metrics.outcomes import outcome


def test_supply_and_demand_of_applicants_are_qualified_ones():
    columns = METRIC.columns(outcome([[1, 1]] * 2, qualified=[4, 9], approved_qualified=[3, 2]))
    np.testing.assert_allclose(
        columns["benefit_rate_g1"], [3 / 5, 6 / 9]
    )  # the second episode has doubled counts
    np.testing.assert_allclose(columns["benefit_rate_g2"], [2 / 10, 4 / 19])
    np.testing.assert_allclose(columns["benefit_rate_gap"], [3 / 5 - 2 / 10, 6 / 9 - 4 / 19])


def test_the_bias_is_the_gap_of_rates_pooled_over_episodes():
    """ELBERT-PO: sum of supply / (sum of demand + episodes)."""
    tallies = {"supply": [3, 2], "demand": [4, 9], "steps": [5, 5]}
    columns = METRIC.columns(outcome([[1]] * 2, tallies=tallies, qualified=[0, 0]))
    expected = 9 / (12 + 2) - 6 / (27 + 2)
    np.testing.assert_allclose(columns["benefit_rate_bias"], [expected] * 2)
    np.testing.assert_allclose(columns["benefit_rate_g1"], [3 / 5, 6 / 9])


def test_reward_per_step():
    applicants = outcome([[1]] * 2, reward=[3, 5], applied=[10, 6])
    np.testing.assert_allclose(REWARD_PER_STEP.columns(applicants)["reward_per_step"], 0.5)
    groups = outcome([[1]] * 2, tallies={"steps": [4, 4]}, reward=[3, 5])
    np.testing.assert_allclose(REWARD_PER_STEP.columns(groups)["reward_per_step"], 2)
