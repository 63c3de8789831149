"""Long-term group fairness in sequential decisions."""

from bisimulator import exact, policies
from bisimulator.adapters import register_all
from bisimulator.core import Env, make
from bisimulator.evaluation import Evaluation, evaluate

__version__ = "0.1.0"
__all__ = ["Env", "Evaluation", "evaluate", "exact", "make", "policies"]

register_all()  # the Gymnasium ids
