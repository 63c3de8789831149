"""How long until a policy is within 2% of the optimum: our PPO on the queue and on lives, and Stable-Baselines3's.

    python benchmarks/goals.py [--scenario lending] [--steps 400000] [--seeds 5] [--sb3-seeds 1]

All on one machine in one run, so ratios mean something. Times are of training alone: compiling and the exact
evaluations in between are left out. Ours trains all seeds together; its time is divided by their number.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import jax
import numpy as np
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

import bisimulator
from bisimulator.adapters.gymnasium import gymnasium_id
from bisimulator.adapters.sb3 import StretchedInputs, as_policy
from bisimulator.core import Env, View
from bisimulator.evaluation import exact_evaluation
from bisimulator.exact.frontier import frontier
from bisimulator.jobs.spec import make_spec
from bisimulator.policies import Network
from bisimulator.solvers import trainer

EVERY = 20_000  # decisions between two evaluations
WITHIN = 0.02  # of the best return of stationary policies


def ours(env: Env, view: View, steps: int, seeds: int) -> list[tuple[float, float]]:
    """Seconds per seed and mean return of greedy policies at every evaluation."""
    spec = make_spec(env.name, "ppo", view=view, seeds=seeds, steps=steps)
    solver = spec.make_solver(env)
    batch = solver.config.batch
    trainer.train(env, spec.make_solver(env), spec.seeds, view=view, evaluate_at=())  # compiles
    points, clock = [], Stopwatch()

    def evaluate(shards: Any, diagnostics: object) -> None:
        with clock.paused():
            policies = [
                Network(solver.policy(jax.tree.map(lambda x, i=i: x[i], shard.theta)), True)
                for shard in shards
                for i in range(shard.key.shape[0])
            ]
            points.append((clock.seconds / seeds, np.mean([_return(env, policy) for policy in policies])))

    at = [u for u in range(1, solver.updates + 1) if u * batch % EVERY < batch] + [solver.updates]
    clock.start()
    trainer.train(env, solver, spec.seeds, view=view, evaluate_at=at, on_evaluate=evaluate)
    return points


def theirs(env: Env, view: View, steps: int, seeds: int) -> list[tuple[float, float]]:
    """The same of Stable-Baselines3's PPO, with the paper's hyperparameters on the queue."""
    runs = []
    for seed in range(seeds):
        name = gymnasium_id(env.name, view)
        venv = make_vec_env(lambda name=name: gymnasium.make(name), 8, seed=seed)
        model = PPO(
            "MlpPolicy",
            venv,
            n_steps=64,
            batch_size=64,
            n_epochs=5,
            learning_rate=lambda left: (3e-4 if view == "life" else 5e-5) * left,
            gamma=1.0 if view == "life" else 0.99,
            policy_kwargs={
                "features_extractor_class": StretchedInputs,
                "net_arch": {"pi": [256], "vf": [256]},
            },
            ent_coef=0.01,
            seed=seed,
            device="cpu",
        )
        watch = _Watch(lambda model=model: _return(env, as_policy(model)))
        watch.clock.start()
        model.learn(steps, callback=watch)
        runs.append(watch.points)
    return [tuple(np.mean(point, axis=0)) for point in zip(*runs, strict=True)]


class _Watch(BaseCallback):
    def __init__(self, evaluate: Callable[[], float]) -> None:
        super().__init__()
        self.points: list[tuple[float, float]] = []
        self.clock, self._evaluate = Stopwatch(), evaluate

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        if self.num_timesteps % EVERY < self.model.n_steps * self.model.n_envs:
            with self.clock.paused():
                self.points.append((self.clock.seconds, self._evaluate()))


class Stopwatch:
    """Wall time that can be paused."""

    def __init__(self) -> None:
        self._began = self._pause = 0.0

    def start(self) -> None:
        self._began = time.perf_counter()

    @property
    def seconds(self) -> float:
        return self._pause - self._began

    def paused(self) -> Stopwatch:
        return self

    def __enter__(self) -> None:
        self._pause = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self._began += time.perf_counter() - self._pause


def _return(env: Env, policy: Any) -> float:
    exact = exact_evaluation(env, policy)
    assert exact is not None
    return exact.average_return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenario", default="lending")
    parser.add_argument("--steps", type=int, default=400_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sb3-seeds", type=int, default=1)
    options = parser.parse_args()
    env = bisimulator.make(options.scenario)
    best = float(frontier(env, levels=[0.0]).stationary_value[0])
    print(f"{options.scenario}: the best stationary policy returns {best:.0f}\n")
    print("| solver | view | seconds of training a seed | return at the end | until within 2% |")
    print("| --- | --- | --- | --- | --- |")
    views: tuple[View, ...] = ("queue", "life")
    for who, run, seeds in (
        ("bisimulator PPO", ours, options.seeds),
        ("Stable-Baselines3 PPO", theirs, options.sb3_seeds),
    ):
        for view in views:
            points = run(env, view, options.steps, seeds)
            reached = [seconds for seconds, value in points if value >= (1 - WITHIN) * best]
            until = f"{reached[0]:.2f} s" if reached else "never"
            print(f"| {who} | {view} | {points[-1][0]:.1f} | {points[-1][1]:.0f} | {until} |", flush=True)


if __name__ == "__main__":
    main()
