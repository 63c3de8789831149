"""The library's environments for Gymnasium, single and vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bisimulator._lazy import lazy
from bisimulator.adapters.gymnasium.registration import gymnasium_id, register_all

if TYPE_CHECKING:
    from bisimulator.adapters.gymnasium._info import ended_outcome
    from bisimulator.adapters.gymnasium.env import BisimulatorEnv
    from bisimulator.adapters.gymnasium.vector_env import BisimulatorVectorEnv

__all__ = ["BisimulatorEnv", "BisimulatorVectorEnv", "ended_outcome", "gymnasium_id", "register_all"]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "BisimulatorEnv": "bisimulator.adapters.gymnasium.env",
        "BisimulatorVectorEnv": "bisimulator.adapters.gymnasium.vector_env",
        "ended_outcome": "bisimulator.adapters.gymnasium._info",
    },
)
