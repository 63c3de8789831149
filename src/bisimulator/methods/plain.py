"""The plain solvers, without a fairness method."""

from __future__ import annotations

from bisimulator.methods.hooks import LearnedMethod
from bisimulator.policies import NoConfig

PPO: LearnedMethod[NoConfig] = LearnedMethod(
    summary="Proximal policy optimisation, no fairness",
    published="PPO",
    solver="ppo",
    applies=lambda scenario: True,
)
DQN: LearnedMethod[NoConfig] = LearnedMethod(
    summary="Deep Q-learning, no fairness",
    published="DQN",
    solver="dqn",
    applies=lambda scenario: scenario.discrete,
)
