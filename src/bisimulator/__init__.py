"""Long-term group fairness in sequential decisions."""

import importlib
from typing import Any

from bisimulator import exact, policies
from bisimulator.adapters import register_all
from bisimulator.core import Env, make
from bisimulator.evaluation import Evaluation, evaluate

__version__ = "0.1.0"
__all__ = ["Env", "Evaluation", "Population", "certify", "evaluate", "exact", "frontier", "make", "policies"]

# imported when asked for, because numba is slow to import
_LATER = {
    "certify": "bisimulator.evaluation.certify",
    "frontier": "bisimulator.exact.frontier",
    "Population": "bisimulator.people.population",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_LATER[name]), name)


register_all()  # the Gymnasium ids
