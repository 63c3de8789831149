"""Exact answers for finite worlds, without sampling."""

from __future__ import annotations

import importlib
from typing import Any

# name -> module; imported when asked for, because numba is slow to import
_PUBLIC = {
    "expect": "chain",
    "bisimulation_metric": "metric",
    "all_actions_metric": "metric",
    "policy_average": "finite",
    "bisimulation_relation": "relation",
    "optimal_transport": "transport",
    "visit_discount": "certificate",
    "best_return": "frontier",
}
__all__ = sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PUBLIC[name]}"), name)


def __dir__() -> list[str]:
    return __all__
