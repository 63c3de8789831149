"""Infectious as one would write it in NumPy, one environment at a time: what the compiled one is compared with."""

from __future__ import annotations

import numpy as np

from bisimulator.envs._contact_network import adjacency_matrix, karate_club

SUSCEPTIBLE, INFECTED, RECOVERED = range(3)


class NumpyInfectious:
    """The SIR dynamics, action and observation of `bisimulator/Infectious-v0`, without its `info`."""

    def __init__(self, infection: float = 0.5, recovery: float = 0.005, relapse: float = 0.0) -> None:
        self.contacts = adjacency_matrix(karate_club()).astype(float)
        self.people = len(self.contacts)
        self.infection, self.recovery, self.relapse = infection, recovery, relapse

    def reset(self, seed: int) -> np.ndarray:
        self.rng = np.random.default_rng(seed)
        self.health = np.zeros(self.people, int)
        self.health[0] = INFECTED
        self.spread()
        return self.observe()

    def spread(self) -> None:
        infected = self.contacts @ (self.health == INFECTED)
        leave = np.array([1 - (1 - self.infection) ** infected, np.full(self.people, self.recovery),
                          np.full(self.people, self.relapse)])  # fmt: skip
        moves = self.rng.random(self.people) < leave[self.health, np.arange(self.people)]
        self.health = np.where(moves, (self.health + 1) % 3, self.health)

    def observe(self) -> np.ndarray:
        return np.eye(3, dtype=np.float32)[self.health].reshape(-1)

    def step(self, action: int) -> tuple[np.ndarray, float]:
        """Treat the person with this number, or nobody (0)."""
        if action > 0 and self.health[action - 1] == SUSCEPTIBLE:
            self.health[action - 1] = RECOVERED
        self.spread()
        return self.observe(), float((self.health != INFECTED).mean())
