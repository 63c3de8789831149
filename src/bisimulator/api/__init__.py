"""The public functions that train: `train`, `compare` and what they return; and `register`."""

from bisimulator.api.comparing import Comparison, compare
from bisimulator.api.registering import register
from bisimulator.api.sweeping import LearnedFrontier, learned_frontier
from bisimulator.api.training import TrainingResult, train

__all__ = [
    "Comparison",
    "LearnedFrontier",
    "TrainingResult",
    "compare",
    "learned_frontier",
    "register",
    "train",
]
