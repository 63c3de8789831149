"""What became of a goal: exact values where they exist, and the same measure for episodes."""

import numpy as np
import pytest

import bisimulator
from bisimulator import policies
from bisimulator.evaluation import exact_evaluation
from bisimulator.evaluation.goal_outcome import goal_outcomes
from bisimulator.goals import Goal


@pytest.fixture(scope="module")
def env():
    return bisimulator.make("lending", population=50, horizon=500)


def test_exact_values_are_used_where_they_exist_and_said_to_be_exact(env):
    rule = policies.thresholds((2, 1))
    outcome = bisimulator.evaluate(env, rule, seeds=3, episodes=4).outcome
    exact = exact_evaluation(env, rule)
    goal = Goal.parse("min-recall=0.9")
    (simulated,) = goal_outcomes(goal, env, outcome)
    (known,) = goal_outcomes(goal, env, outcome, [exact] * 3)
    assert simulated.measured == "simulated, 12 episodes"
    assert "Reached (simulated, 12 episodes): " in str(simulated)
    assert known.measured == "exact"
    assert "Reached (exact): " in str(known)
    assert known.reached == pytest.approx((exact.recall.min(), 0.0), abs=1e-9)
    assert known.average_return == pytest.approx((exact.average_return, 0.0), abs=1e-9)
    assert known.violation[0] == pytest.approx(0.9 - exact.recall.min())
    assert 0 <= known.regret[0] < 100


def test_every_seed_has_its_own_moments(env):
    rules = [policies.thresholds((2, level)) for level in (1, 2, 3)]
    outcome = bisimulator.evaluate(env, rules[0], seeds=3, episodes=2).outcome
    exact = [exact_evaluation(env, rule) for rule in rules]
    reached = {
        o.demand: o.reached
        for o in goal_outcomes(Goal.parse("credit-gap=1 recall-gap=0"), env, outcome, exact)
    }
    assert reached["credit-gap=1"][0] == pytest.approx(np.mean([e.credit_gap for e in exact]))
    assert reached["recall-gap=0"][0] == pytest.approx(np.mean([e.recall_gap for e in exact]))
    assert reached["recall-gap=0"][1] > 0
