"""The library's environments for other libraries, and the Bisimulator for other environments and solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bisimulator._lazy import lazy
from bisimulator.adapters.gymnasium.registration import gymnasium_id, register_all

if TYPE_CHECKING:
    from bisimulator.adapters.check_env import GroupEnvCheck, check_group_env
    from bisimulator.adapters.corrector import Corrector
    from bisimulator.adapters.goal_corrector import GoalCorrector
    from bisimulator.adapters.group_info import AdjustableEnv, GroupEnv, WithGroups
    from bisimulator.adapters.group_metrics import GroupMetrics, group_metrics
    from bisimulator.adapters.gymnasium._info import ended_outcome
    from bisimulator.adapters.gymnasium.env import BisimulatorEnv
    from bisimulator.adapters.gymnasium.vector_env import BisimulatorVectorEnv
    from bisimulator.adapters.omega_search import improve_omega
    from bisimulator.adapters.reward_wrapper import BisimulatorRewardWrapper, BisimulatorVectorRewardWrapper

__all__ = [
    "AdjustableEnv",
    "BisimulatorEnv",
    "BisimulatorRewardWrapper",
    "BisimulatorVectorEnv",
    "BisimulatorVectorRewardWrapper",
    "Corrector",
    "GoalCorrector",
    "GroupEnv",
    "GroupEnvCheck",
    "GroupMetrics",
    "WithGroups",
    "check_group_env",
    "ended_outcome",
    "group_metrics",
    "gymnasium_id",
    "improve_omega",
    "register_all",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "AdjustableEnv": "bisimulator.adapters.group_info",
        "BisimulatorEnv": "bisimulator.adapters.gymnasium.env",
        "BisimulatorRewardWrapper": "bisimulator.adapters.reward_wrapper",
        "BisimulatorVectorEnv": "bisimulator.adapters.gymnasium.vector_env",
        "BisimulatorVectorRewardWrapper": "bisimulator.adapters.reward_wrapper",
        "Corrector": "bisimulator.adapters.corrector",
        "GoalCorrector": "bisimulator.adapters.goal_corrector",
        "GroupEnv": "bisimulator.adapters.group_info",
        "GroupEnvCheck": "bisimulator.adapters.check_env",
        "GroupMetrics": "bisimulator.adapters.group_metrics",
        "WithGroups": "bisimulator.adapters.group_info",
        "check_group_env": "bisimulator.adapters.check_env",
        "ended_outcome": "bisimulator.adapters.gymnasium._info",
        "group_metrics": "bisimulator.adapters.group_metrics",
        "improve_omega": "bisimulator.adapters.omega_search",
    },
)
