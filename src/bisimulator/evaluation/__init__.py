"""How good and how fair a policy is: exactly where that is possible, else simulated with intervals."""

from bisimulator.evaluation._decision_table import decision_table
from bisimulator.evaluation._evaluate import Evaluation, evaluate, headlines, metric_columns, run_episodes
from bisimulator.evaluation._exact_evaluation import exact_evaluation
from bisimulator.evaluation.intervals import mean_and_interval, seed_means

__all__ = [
    "Evaluation",
    "decision_table",
    "evaluate",
    "exact_evaluation",
    "headlines",
    "mean_and_interval",
    "metric_columns",
    "run_episodes",
    "seed_means",
]
