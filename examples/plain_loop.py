"""The Bisimulator in a training loop without any learning library: Q-learning in a table, and two more lines (marked).

python examples/plain_loop.py [--steps 2000] [--plain]
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np

import bisimulator
from bisimulator.adapters import BisimulatorVectorRewardWrapper


def learn(steps: int, plain: bool, num_envs: int = 64, seed: int = 0) -> np.ndarray:
    """Estimate the value of each action (2) for each group (2) and score (7) over a person's life."""
    rng, values = np.random.default_rng(seed), np.zeros((2, 7, 2))
    lives = "bisimulator:bisimulator/LendingLife-v0"
    envs = gymnasium.make_vec(lives, num_envs, "vector_entry_point", autoreset_mode="SameStep")
    if not plain:
        envs = BisimulatorVectorRewardWrapper(envs, alpha=1.5)  # bisimulator: first line
    obs, _ = envs.reset(seed=seed)
    for step in range(steps):
        group, score = seen(obs)
        actions = values[group, score].argmax(1)
        explore = rng.random(num_envs) < 0.1
        actions[explore] = rng.integers(2, size=explore.sum())
        obs, rewards, terminated, _, _ = envs.step(actions)
        targets = rewards + ~terminated * values[seen(obs)].max(1)  # a life is short: nothing is discounted
        for g, s, a, target in zip(group, score, actions, targets, strict=True):
            values[g, s, a] += 0.02 * (target - values[g, s, a])
        if not plain and step % 8 == 7:
            envs.learn()  # bisimulator: second line
    return values


def seen(obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The group and the score of each person."""
    return obs[:, 1:3].argmax(1), np.rint(6 * obs[:, 0]).astype(int)


def main(steps: int = 2000, plain: bool = False, **params: int) -> None:
    policy = learn(steps, plain).argmax(2)
    for group, actions in enumerate(policy, start=1):
        names = " ".join("accept" if action else "reject" for action in actions)
        print(f"group {group}, scores 1 to 7: {names}")
    result = bisimulator.evaluate(bisimulator.make("lending", **params), policy, episodes=2, seeds=2)
    for name in ("average_return", "recall_g1", "recall_g2"):
        print(f"{name}: {result.summary[name][0]:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=2000, help="steps of each of the 64 environments")
    parser.add_argument("--plain", action="store_true", help="train without the Bisimulator")
    main(**vars(parser.parse_args()))
