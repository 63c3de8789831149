"""The Bisimulator in a loop of one's own, without any library for learning: a table of values, and two lines more.

python examples/plain_loop.py [--steps 2000] [--plain]
"""

from __future__ import annotations

import argparse

import gymnasium
import numpy as np

import bisimulator
from bisimulator.adapters import BisimulatorVectorRewardWrapper


def learn(steps: int, plain: bool, copies: int = 64, seed: int = 0) -> np.ndarray:
    """What each decision (2) is worth for a person of each group (2) and score (7), by trial and error."""
    rng, worth = np.random.default_rng(seed), np.zeros((2, 7, 2))
    envs = gymnasium.make_vec("bisimulator:bisimulator/Lending-v0", copies, "vector_entry_point")
    if not plain:
        envs = BisimulatorVectorRewardWrapper(envs, alpha=1.5, floor=0.3)  # one
    obs, _ = envs.reset(seed=seed)
    for step in range(steps):
        group, score = obs[:, 1:3].argmax(1), np.rint(6 * obs[:, 0]).astype(int)
        actions = worth[group, score].argmax(1)
        explore = rng.random(copies) < 0.1
        actions[explore] = rng.integers(2, size=explore.sum())
        obs, rewards, _, _, _ = envs.step(actions)
        for person in zip(group, score, actions, rewards, strict=True):
            g, s, a, reward = person
            worth[g, s, a] += 0.02 * (reward - worth[g, s, a])
        if not plain and step % 8 == 7:
            envs.corrector.learn()  # two
    return worth


def main(steps: int = 2000, plain: bool = False, **settings: int) -> None:
    accepts = learn(steps, plain).argmax(2)
    for group, row in enumerate(accepts):
        print(f"group {group + 1}, scores 1 to 7: {' '.join('accept' if yes else 'reject' for yes in row)}")
    result = bisimulator.evaluate(bisimulator.make("lending", **settings), accepts, episodes=2, seeds=2)
    for name in ("average_return", "recall_g1", "recall_g2"):
        print(f"{name}: {result.summary[name][0]:.3f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=2000, help="of each of the 64 copies")
    parser.add_argument("--plain", action="store_true", help="without the Bisimulator")
    main(**vars(parser.parse_args()))
