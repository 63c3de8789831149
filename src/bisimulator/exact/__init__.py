"""Exact answers for finite environments, without sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bisimulator._lazy import lazy

if TYPE_CHECKING:
    from bisimulator.exact._finite import policy_average
    from bisimulator.exact.certificate import visit_discount
    from bisimulator.exact.chain import expect
    from bisimulator.exact.frontier import best_return
    from bisimulator.exact.metric import all_actions_metric, bisimulation_metric
    from bisimulator.exact.relation import bisimulation_relation
    from bisimulator.exact.transport import optimal_transport

__all__ = [
    "all_actions_metric",
    "best_return",
    "bisimulation_metric",
    "bisimulation_relation",
    "expect",
    "optimal_transport",
    "policy_average",
    "visit_discount",
]

# numba is slow to import
__getattr__, __dir__ = lazy(
    __name__,
    {
        "all_actions_metric": "bisimulator.exact.metric",
        "best_return": "bisimulator.exact.frontier",
        "bisimulation_metric": "bisimulator.exact.metric",
        "bisimulation_relation": "bisimulator.exact.relation",
        "expect": "bisimulator.exact.chain",
        "optimal_transport": "bisimulator.exact.transport",
        "policy_average": "bisimulator.exact._finite",
        "visit_discount": "bisimulator.exact.certificate",
    },
)
