"""A small environment to audit policies in: two groups, four bins of scores."""

import pytest

import bisimulator
from bisimulator.auditing.analysis import audit_policy
from bisimulator.auditing.thresholds import from_thresholds


@pytest.fixture(scope="session")
def env():
    return bisimulator.make(
        "lending",
        initial=[[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]],
        repayment=[[0.2, 0.5, 0.8, 0.9], [0.1, 0.4, 0.7, 0.9]],
        group_probs=(0.7, 0.3),
        group_names=("<b>up</b>", "down"),
        score_edges=(300, 450, 600, 700, 850),
        reward_default=-2,
        population=200,
        horizon=1000,
    )


@pytest.fixture(scope="session")
def result(env):
    return audit_policy(
        from_thresholds("<b>up</b>=600,down=450", env),
        people="a few",
        seeds=3,
        episodes=2,
        notes=("First & last.",),
    )
