"""The solvers as they are, without any method."""

from __future__ import annotations

from bisimulator.methods.hooks import LearnedMethod

PPO = LearnedMethod(summary="Proximal policy optimisation, no fairness", published="PPO", solver="ppo")
DQN = LearnedMethod(summary="Deep Q-learning, no fairness", published="DQN", solver="dqn")
