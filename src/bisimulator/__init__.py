"""Long-term group fairness in reinforcement learning.

Simulate repeated decisions about people, train policies, and compare them with the provable optimum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bisimulator import exact, policies
from bisimulator._lazy import lazy
from bisimulator.adapters import register_all
from bisimulator.core import Env, make
from bisimulator.evaluation import Evaluation, evaluate

if TYPE_CHECKING:
    from bisimulator.api import Comparison, TrainingResult, compare, register, train
    from bisimulator.evaluation.certify import certify
    from bisimulator.exact.frontier import frontier
    from bisimulator.people.population import Population

__version__ = "0.2.0"
__all__ = [
    "Comparison",
    "Env",
    "Evaluation",
    "Population",
    "TrainingResult",
    "certify",
    "compare",
    "evaluate",
    "exact",
    "frontier",
    "make",
    "policies",
    "register",
    "train",
]

# slow to import, so on first use
__getattr__, __dir__ = lazy(
    __name__,
    {
        "Comparison": "bisimulator.api",
        "Population": "bisimulator.people.population",
        "TrainingResult": "bisimulator.api",
        "certify": "bisimulator.evaluation.certify",
        "compare": "bisimulator.api",
        "frontier": "bisimulator.exact.frontier",
        "register": "bisimulator.api",
        "train": "bisimulator.api",
    },
)

register_all()  # the Gymnasium ids
