"""An environment for tests with three actions, four groups and continuous features: reject, a small or a large loan.

An episode is a customer, who applies eight times. The bank sees a noisy estimate of the customer's income, the record
of past loans, and the group. Incomes of the groups differ, repayments depend on income and record alone. A large loan
is harder to repay than a small one, and worth twenty times as much. A repaid loan improves the record, a default
worsens it.
"""

import gymnasium
import numpy as np
from gymnasium import spaces

SHARES = np.array([0.4, 0.3, 0.2, 0.1])  # of the groups
INCOME, SPREAD, NOISE = np.array([0.6, 0.3, 0.0, -0.3]), 0.8, 0.3  # mean by group, and standard deviations
REPAID, DEFAULT = np.array([0.0, 1 / 20, 1.0]), np.array([0.0, -1 / 16, -1.25])  # rewards by action
HARDNESS = np.array([0.0, 0.0, 0.5])  # of repaying
IMPROVES, WORSENS = 0.15, 0.2  # the record
APPLICATIONS = 8
SMALL, LARGE = 1, 2


class Loans(gymnasium.Env):
    num_groups = 4

    def __init__(self):
        self.observation_space = spaces.Box(-np.inf, np.inf, (6,), np.float32)
        self.action_space = spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.group = int(self.np_random.choice(4, p=SHARES))
        self.income = INCOME[self.group] + SPREAD * self.np_random.normal()
        self.record, self.t = 0.0, 0
        return self._observe(), {}

    def step(self, action):
        need = HARDNESS[action] - self.income - self.record
        repays = self.np_random.random() < 1 / (1 + np.exp(1.5 * need))
        reward = float(REPAID[action] if repays else DEFAULT[action])
        if action:
            self.record = float(np.clip(self.record + (IMPROVES if repays else -WORSENS), -1, 1))
        self.t += 1
        return self._observe(), reward, self.t == APPLICATIONS, False, {"group": self.group}

    def _observe(self):
        estimate = self.income + NOISE * self.np_random.normal()
        one_hot = np.eye(4, dtype=np.float32)[self.group]
        return np.concatenate([[estimate, self.record], one_hot]).astype(np.float32)


def kinds(actions):
    """Kinds of acceptance: any loan, and the large one."""
    return np.stack([actions >= SMALL, actions == LARGE], -1)
