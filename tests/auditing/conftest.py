"""A small environment to audit policies in: two groups, four bins of scores."""

from functools import cache

import numpy as np
import pytest

import bisimulator
from bisimulator.auditing.analysis import audit_policy
from bisimulator.auditing.audit_page import render_audit
from bisimulator.auditing.audited_policy import AuditedPolicy
from bisimulator.auditing.read_policy import read_policy
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


class Opaque(bisimulator.policies.Policy):
    """A policy whose probabilities are not known, so that its numbers are simulated."""

    hidden: bisimulator.policies.Policy

    def bind(self, env):
        return self.hidden.bind(env)


@pytest.fixture(scope="session")
def simulated(result, env):
    """Many episodes of the same policy, whose exact numbers are not known."""
    opaque = AuditedPolicy("opaque", "Hides what it does.", env, Opaque(result.audited.policy))
    return audit_policy(opaque, people="", seeds=40, episodes=2)


@pytest.fixture(scope="session")
def page(result):
    return render_audit(result)


@pytest.fixture(scope="session")
def audit_of(env):
    """Audits of policies as they are typed; with `simulated`, scores are not seen as they are."""

    @cache
    def audit(policy, *, simulated=False):
        seen = env.with_omega(np.full((2, 2), 1.5, np.float32)) if simulated else env
        return audit_policy(read_policy(policy, seen), people="", seeds=3, episodes=2)

    return audit
