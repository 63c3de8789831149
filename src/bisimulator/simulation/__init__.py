"""Episodes under a policy, what they amount to per group, and the keys of evaluation episodes."""

from bisimulator.simulation.episodes import CURVE_POINTS, episode, episode_by_steps, plan, play, summarise
from bisimulator.simulation.keys import evaluation_keys

__all__ = ["CURVE_POINTS", "episode", "episode_by_steps", "evaluation_keys", "plan", "play", "summarise"]
