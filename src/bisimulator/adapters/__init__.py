"""The environments as other libraries know them, and the Bisimulator for environments and solvers of others."""

import importlib
from typing import Any

from bisimulator.adapters.outcomes import ended_outcome
from bisimulator.adapters.registration import gymnasium_id, register_all

__all__ = [
    "BisimulatorRewardWrapper",
    "BisimulatorVectorRewardWrapper",
    "Corrector",
    "WithGroups",
    "check_group_env",
    "ended_outcome",
    "gymnasium_id",
    "register_all",
]

# imported when asked for: `import bisimulator` comes through here, and need not wait for them
_LATER = {
    "BisimulatorRewardWrapper": "reward_wrapper",
    "BisimulatorVectorRewardWrapper": "reward_wrapper",
    "Corrector": "corrector",
    "WithGroups": "groups",
    "check_group_env": "checking",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
