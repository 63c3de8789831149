"""An environment for tests with continuous observations: three groups, whose scores are shifted against each other.

People return. Accepted people gain experience, whether or not they succeed, up to a maximum; so groups that start lower
catch up if they are accepted. The agent observes a score, which is ability with little noise, and two more features
with much noise. It does not observe the group.
"""

import gymnasium
import numpy as np
from gymnasium import spaces

GROUPS = 3
SHIFT = np.array([0.0, 1.0, 2.0])  # how much lower a group's scores are at the start
NOISE = np.array([0.2, 2.0, 2.0])  # of the score and of the two other features
BEST, SPREAD, EXPERIENCE = 1.2, 0.3, 0.3


class Applicants(gymnasium.Env):
    """The observation parameters, one per group, are added to the group's scores."""

    num_groups = GROUPS
    observation_params_bounds = (0.0, 3.0)

    def __init__(self, people: int = 30, horizon: int = 1200):
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.people, self.horizon = people, horizon
        self.observation_params = np.zeros((GROUPS, 1))

    def set_observation_params(self, values) -> None:
        self.observation_params = np.array(values, float).reshape(GROUPS, 1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.group = np.arange(self.people) % GROUPS
        self.ability = BEST - SHIFT[self.group] + self.np_random.normal(0, SPREAD, self.people)
        self.noise = NOISE * self.np_random.normal(size=(self.horizon + 1, 3))
        self.arrivals = self.np_random.integers(self.people, size=self.horizon + 1)
        self.luck = self.np_random.random(self.horizon)
        self.t = 0
        return self._observe(self.arrivals[0]), {}

    def step(self, action):
        who = self.arrivals[self.t]
        succeeds = bool(self.luck[self.t] < 1 / (1 + np.exp(-2 * self.ability[who])))
        reward = 0.0
        if action == 1:
            reward = 1.0 if succeeds else -1.0
            self.ability[who] = max(self.ability[who], min(self.ability[who] + EXPERIENCE, BEST))
        self.t += 1
        info = {
            "group": int(self.group[who]),
            "qualified": succeeds,
            "next_self_observation": self._observe(who),
        }
        return self._observe(self.arrivals[self.t]), reward, False, self.t >= self.horizon, info

    def _observe(self, who):
        obs = self.ability[who] + self.noise[self.t]
        obs[0] += self.observation_params[self.group[who], 0]
        return obs.astype(np.float32)


def group_rates(act, episodes: int = 8, seed: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Approval rate and mean reward per decision of each group, under act(observations) -> actions.

    The episodes run in parallel.
    """
    envs = [Applicants() for _ in range(episodes)]
    obs = np.stack([env.reset(seed=seed + i)[0] for i, env in enumerate(envs)])
    rows = []
    for _ in range(envs[0].horizon):
        actions = np.asarray(act(obs))
        steps = [env.step(int(a)) for env, a in zip(envs, actions, strict=True)]
        rows += [(s[4]["group"], a, s[1]) for s, a in zip(steps, actions, strict=True)]
        obs = np.stack([s[0] for s in steps])
    group, action, reward = np.array(rows).T
    counts = np.bincount(group.astype(int), minlength=GROUPS)
    return tuple(np.bincount(group.astype(int), x, GROUPS) / counts for x in (action, reward))


def gap(values: np.ndarray) -> float:
    return float(values.max() - values.min())
