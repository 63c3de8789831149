"""Episodes under a policy, what they amount to per group, and the keys of evaluation episodes."""

from bisimulator.simulation.batches import check_memory, in_batches
from bisimulator.simulation.episodes import (
    CURVE_POINTS,
    action_range,
    check_action_range,
    episode,
    episode_by_steps,
    plan,
    play,
    summarise,
)
from bisimulator.simulation.keys import evaluation_keys

__all__ = [
    "CURVE_POINTS",
    "action_range",
    "check_action_range",
    "check_memory",
    "episode",
    "episode_by_steps",
    "evaluation_keys",
    "in_batches",
    "plan",
    "play",
    "summarise",
]
