"""Lending in plain NumPy Python, the way one writes a Gymnasium environment: what the library is measured against.

The same environment as `bisimulator.make("lending")`: same distributions, observations, rewards and counterfactual
outcomes. `advance` is the bare transition for the benchmark, `step` adds what `gymnasium.Env` asks for.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

INITIAL = np.array([[0, 0, 0, 0.2, 0.3, 0.3, 0.2], [0.2, 0.2, 0.3, 0.2, 0.1, 0, 0]])
REPAYMENT = np.linspace(0.3, 0.9, 7)


class NumpyLending(gymnasium.Env[NDArray[np.float32], int]):
    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, population: int = 1000, horizon: int = 10_000):
        self.population, self.horizon = population, horizon
        self.observation_space = spaces.Box(0.0, 1.0, (5,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(
        self, *, seed: int | None = None, options: dict | None = None
    ) -> tuple[NDArray[np.float32], dict]:
        super().reset(seed=seed)
        self.rng, size = self.np_random, self.population
        self.group = self.rng.integers(2, size=size)
        self.score = (self.rng.random(size)[:, None] >= INITIAL.cumsum(1)[self.group, :-1]).sum(1)
        self.repaid, self.defaulted = np.zeros(size, int), np.zeros(size, int)
        self.t = 0
        self.applicant = self.rng.integers(size)
        return self._observe(self.applicant), {}

    def advance(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool]:
        """One decision: the next observation, the reward, whether the person would repay, whether time is up."""
        who, score = self.applicant, int(self.score[self.applicant])
        would_repay = self.rng.random() < REPAYMENT[score]
        reward = 0.0
        if action and would_repay:
            reward = 1.0
            self.score[who] = min(score + 1, 6)
            self.repaid[who] += 1
        elif action:
            reward = -1.0
            self.score[who] = max(score - 1, 0)
            self.defaulted[who] += 1
        self.applicant = self.rng.integers(self.population)
        self.t += 1
        return self._observe(self.applicant), reward, would_repay, self.t >= self.horizon

    def step(self, action: int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        who = self.applicant
        obs, reward, would_repay, truncated = self.advance(action)
        info = {
            "group": int(self.group[who]),
            "qualified": bool(would_repay),
            "next_self_observation": self._observe(who),
        }
        return obs, reward, False, truncated, info

    def _observe(self, who: int) -> NDArray[np.float32]:
        repaid, defaulted, second = int(self.repaid[who]), int(self.defaulted[who]), int(self.group[who])
        loans = max(repaid + defaulted, 1)
        values = (self.score[who] / 6, 1 - second, second, repaid / loans, defaulted / loans)
        return np.array(values, np.float32)
