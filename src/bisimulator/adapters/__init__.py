"""The environments for other libraries, and the Bisimulator for other people's environments and solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bisimulator._lazy import lazy
from bisimulator.adapters.gymnasium.outcomes import ended_outcome
from bisimulator.adapters.gymnasium.registration import gymnasium_id, register_all

if TYPE_CHECKING:
    from bisimulator.adapters.check_env import check_group_env
    from bisimulator.adapters.corrector import Corrector
    from bisimulator.adapters.group_info import WithGroups
    from bisimulator.adapters.reward_wrapper import BisimulatorRewardWrapper, BisimulatorVectorRewardWrapper

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

__getattr__, __dir__ = lazy(
    __name__,
    {
        "BisimulatorRewardWrapper": "bisimulator.adapters.reward_wrapper",
        "BisimulatorVectorRewardWrapper": "bisimulator.adapters.reward_wrapper",
        "Corrector": "bisimulator.adapters.corrector",
        "WithGroups": "bisimulator.adapters.group_info",
        "check_group_env": "bisimulator.adapters.check_env",
    },
)
