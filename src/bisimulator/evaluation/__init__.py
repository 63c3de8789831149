"""How good and how fair a policy is: simulated with intervals, or certified exactly."""

from bisimulator.evaluation._evaluate import HEADLINES, Evaluation, evaluate, metric_columns, run_episodes
from bisimulator.evaluation.intervals import mean_and_interval, seed_means

__all__ = [
    "HEADLINES",
    "Evaluation",
    "evaluate",
    "mean_and_interval",
    "metric_columns",
    "run_episodes",
    "seed_means",
]
