"""Fairness goals: one definition for the exact frontier, for training and for audits."""

from bisimulator.goals.control import GoalConfig
from bisimulator.goals.demands import DEMANDS, Demand
from bisimulator.goals.goal import Goal
from bisimulator.goals.moments import Moments

__all__ = ["DEMANDS", "Demand", "Goal", "GoalConfig", "Moments"]
