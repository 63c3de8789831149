"""Attention as one would write it in NumPy, one environment at a time: what the compiled one is compared with."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

HISTORY = 8


class NumpyAttention(gymnasium.Env[np.ndarray, np.ndarray]):
    """The dynamics, action and observation of `bisimulator/Attention-v0` without its `info`."""

    def __init__(
        self,
        rates: tuple[float, ...] = (8.0, 6.0, 4.0, 3.0, 1.5),
        units: int = 6,
        rate_up: float = 0.1,
        rate_down: float = 0.1,
        horizon: int = 1000,
    ) -> None:
        self.initial, self.units, self.horizon = np.array(rates), units, horizon
        self.rate_up, self.rate_down = rate_up, rate_down
        size = len(rates)
        self.observation_space = gymnasium.spaces.Box(0, 1, (HISTORY * 4 * size,), np.float32)
        self.action_space = gymnasium.spaces.Box(-3, 3, (size,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.rates, self.t = self.initial.copy(), 0
        self.seen, self.occurred = np.zeros_like(self.rates), np.zeros_like(self.rates)
        self.recent = np.zeros((HISTORY, 4, self.rates.size), np.float32)
        return self.recent.reshape(-1).copy(), {}

    def allocate(self, action: np.ndarray) -> np.ndarray:
        """One unit after the other to the largest share, which falls by 1 / N."""
        share = np.exp(np.clip(action, -3, 3))
        share /= share.sum()
        given = np.zeros(share.size)
        for _ in range(self.units):
            first = share.argmax()
            given[first] += 1
            share[first] -= 1 / self.units
        return given

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        units = self.allocate(action)
        occurred = self.np_random.poisson(self.rates)
        seen = np.minimum(units, occurred)
        self.seen += seen
        self.occurred += occurred
        attended = np.maximum(self.rates - self.rate_down * units, 0)
        self.rates = np.where(units > 0, attended, self.rates + self.rate_up)
        self.recent = np.roll(self.recent, -1, axis=0)
        shown = (seen / self.units, occurred / (occurred + self.units), units / self.units)
        self.recent[-1] = *shown, self.seen / (self.occurred + 1)
        self.t += 1
        reward = float(seen.sum() - 0.25 * (occurred - seen).sum())
        return self.recent.reshape(-1).copy(), reward, False, self.t >= self.horizon, {}
