"""Long-term group fairness in reinforcement learning.

Simulate repeated decisions about people, train policies, and compare them with the provable optimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bisimulator._signals import while_importing

with while_importing():
    from bisimulator import exact, policies
    from bisimulator._lazy import lazy
    from bisimulator.adapters import register_all
    from bisimulator.core import Env, make
    from bisimulator.evaluation import Evaluation, evaluate

    register_all()  # the Gymnasium ids

if TYPE_CHECKING:
    from bisimulator.adapters.group_metrics import GroupMetrics, group_metrics
    from bisimulator.api import (
        Comparison,
        LearnedFrontier,
        TrainingResult,
        compare,
        learned_frontier,
        register,
        train,
    )
    from bisimulator.auditing.audit import Audit, audit
    from bisimulator.evaluation.certify import certify
    from bisimulator.exact.frontier import frontier
    from bisimulator.goals import Goal
    from bisimulator.people.population import Population

__version__ = "0.2.0"
__all__ = [
    "Audit",
    "Comparison",
    "Env",
    "Evaluation",
    "Goal",
    "GroupMetrics",
    "LearnedFrontier",
    "Population",
    "TrainingResult",
    "audit",
    "certify",
    "compare",
    "evaluate",
    "exact",
    "frontier",
    "group_metrics",
    "learned_frontier",
    "make",
    "policies",
    "register",
    "train",
]

# slow to import, so on first use
__getattr__, __dir__ = lazy(
    __name__,
    {
        "Audit": "bisimulator.auditing.audit",
        "Comparison": "bisimulator.api",
        "Goal": "bisimulator.goals",
        "LearnedFrontier": "bisimulator.api",
        "GroupMetrics": "bisimulator.adapters.group_metrics",
        "Population": "bisimulator.people.population",
        "TrainingResult": "bisimulator.api",
        "audit": "bisimulator.auditing.audit",
        "certify": "bisimulator.evaluation.certify",
        "compare": "bisimulator.api",
        "frontier": "bisimulator.exact.frontier",
        "learned_frontier": "bisimulator.api",
        "group_metrics": "bisimulator.adapters.group_metrics",
        "register": "bisimulator.api",
        "train": "bisimulator.api",
    },
)
