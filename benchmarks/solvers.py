"""Trains Stable-Baselines3's solvers on lending, plain and with the Bisimulator's callback, and compares recalls.

    python benchmarks/solvers.py [--solvers ppo,dqn,trpo] [--seeds 5] [--steps 400000] [--out runs/solvers]

Each training writes one file of results; a training whose file exists is not repeated. The table that is printed at the
end is the one of docs/sb3.md.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

# before jax starts: a step is so small that dispatching it to other threads takes longer than the step itself
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("JAX_CPU_ENABLE_ASYNC_DISPATCH", "false")

import numpy as np
import torch
from sb3_contrib import QRDQN, TRPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm

import bisimulator
from bisimulator import files
from bisimulator.adapters.sb3 import BisimulatorCallback, BisimulatorVecEnv, StretchedInputs, as_policy

EPISODES = 5
COLUMNS = ("average_return", "credit_gap", "recall_g1", "recall_g2", "recall_gap")
STRETCHED = {"features_extractor_class": StretchedInputs}


def annealed(rate: float) -> Callable[[float], float]:
    return lambda remaining: rate * remaining


def actor_critic(**more: object) -> dict[str, Any]:
    return {"policy_kwargs": {**STRETCHED, "net_arch": {"pi": [256], "vf": [256]}}, **more}


def value_based(**more: object) -> dict[str, Any]:
    """The paper's hyperparameters, as in `bisimulator.solvers.dqn`: 64 decisions, then 4 gradient steps."""
    return {
        "policy_kwargs": {**STRETCHED, "net_arch": [256], "activation_fn": torch.nn.Tanh},
        "learning_rate": annealed(5e-5),
        "buffer_size": 10_000,
        "learning_starts": 512,
        "batch_size": 512,
        "train_freq": 8,
        "gradient_steps": 4,
        "target_update_interval": 640,
        "exploration_fraction": 0.5,
        **more,
    }


# everything else is Stable-Baselines3's default; 8 environments
SOLVERS: dict[str, tuple[type[BaseAlgorithm], dict[str, Any]]] = {
    "ppo": (
        PPO,
        actor_critic(
            learning_rate=annealed(5e-5),
            n_steps=64,
            batch_size=64,
            n_epochs=5,
            ent_coef=0.01,
            clip_range_vf=0.2,
        ),
    ),
    "a2c": (A2C, actor_critic(n_steps=64)),
    "trpo": (TRPO, actor_critic(n_steps=64, batch_size=64)),
    "dqn": (DQN, value_based(exploration_final_eps=0.05)),
    "qrdqn": (QRDQN, value_based(exploration_final_eps=0.05)),
}


def train(solver: str, fair: bool, seed: int, steps: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Train one model and evaluate it greedily."""
    algorithm, hyperparameters = SOLVERS[solver]
    venv = BisimulatorVecEnv("lending", 8)
    model = algorithm("MlpPolicy", venv, seed=seed, device="cpu", **hyperparameters)
    callback = BisimulatorCallback(**options) if fair else None
    start = time.perf_counter()
    model.learn(steps, callback=callback)
    seconds = time.perf_counter() - start
    env = venv.envs.env  # with the learned omega
    result = bisimulator.evaluate(env, as_policy(model), episodes=EPISODES, seeds=[seed])
    logs = callback.corrector.describe() if callback and callback.corrector else {}
    values = {name: result.summary[name][0] for name in COLUMNS}
    return {**values, "seconds": seconds, **logs, "omega": np.asarray(env.params.omega).tolist()}


def table(results: Mapping[tuple[str, bool], list[dict[str, float]]]) -> str:
    lines = [
        "| solver | | return | credit gap | recall 1 / 2 | lowest recall of a seed | recall gap | largest of a seed |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for (solver, fair), runs in results.items():
        column = {name: np.array([run[name] for run in runs]) for name in COLUMNS}
        lowest = np.minimum(column["recall_g1"], column["recall_g2"]).min()
        variant = "callback" if fair else "plain"
        if lowest == 1:  # outcomes are unknown when people are decided on, so a recall of 1 accepts everybody
            variant += " (accepts everybody)"
        gap = column["recall_gap"]
        lines.append(
            f"| {SOLVERS[solver][0].__name__} | {variant} | {column['average_return'].mean():.0f} "
            f"| {column['credit_gap'].mean():.2f} "
            f"| {column['recall_g1'].mean():.3f} / {column['recall_g2'].mean():.3f} "
            f"| {lowest:.3f} | {gap.mean():.3f} | {gap.max():.3f} |"
        )
    return "\n".join(lines)


def main(
    solvers: str = "ppo,dqn,trpo",
    seeds: int = 5,
    first_seed: int = 0,
    steps: int = 400_000,
    out: Path = Path("runs/solvers"),
    variants: str = "plain,callback",
    options: Mapping[str, Any] | None = None,
) -> None:
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    results: dict[tuple[str, bool], list[dict[str, float]]] = {}
    for solver in solvers.split(","):
        for variant in variants.split(","):
            for seed in range(first_seed, first_seed + seeds):
                path = out / f"{solver}-{variant}-{steps}-{seed}.json"
                if not path.exists():
                    files.write_json(path, train(solver, variant == "callback", seed, steps, options or {}))
                run = json.loads(path.read_text())
                results.setdefault((solver, variant == "callback"), []).append(run)
                values = "  ".join(f"{name} {run[name]:.3f}" for name in COLUMNS)
                print(f"{solver:6} {variant:9} seed {seed:3}  {values}  {run['seconds']:.0f} s", flush=True)
    print(table(results))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--solvers", default="ppo,dqn,trpo", help=f"any of {', '.join(SOLVERS)}, separated by commas"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=400_000, help="training steps per seed")
    parser.add_argument("--out", type=Path, default=Path("runs/solvers"), help="folder for the results")
    parser.add_argument("--variants", default="plain,callback")
    parser.add_argument(
        "--options", type=json.loads, default=None, help='of the callback, such as {"alpha": 3}'
    )
    main(**vars(parser.parse_args()))
