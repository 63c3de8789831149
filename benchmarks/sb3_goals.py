"""Trains Stable-Baselines3's unmodified PPO towards a goal, in an environment outside the library and on lending.

    python benchmarks/sb3_goals.py [--seeds 5] [--first-seed 0] [--out runs/sb3-goals] [--rows loans,lending]

`loans` is the environment of tests/adapters/loans.py: three actions, four groups, continuous features. The plain solver
is compared with `approval-gap=0.05`, on 20,000 customers per seed. `lending` is the life view of lending with
`min-recall=0.9`; its values are exact, and compared with the best stationary return at the recall that was reached.
Each training writes one file of results; a training whose file exists is not repeated. The tables that are printed at
the end are those of docs/sb3.md. It takes about 20 minutes on 2 cores.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# before jax starts: a step is so small that dispatching it to other threads takes longer than the step itself
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
os.environ.setdefault("JAX_CPU_ENABLE_ASYNC_DISPATCH", "false")
sys.path.insert(0, str(Path(__file__).parents[1]))  # for the environment of the tests

import numpy as np
import torch
from gymnasium.vector import SyncVectorEnv
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

import bisimulator
from bisimulator import files
from bisimulator.adapters.sb3 import BisimulatorCallback, BisimulatorVecEnv, StretchedInputs, as_policy
from bisimulator.evaluation import exact_evaluation
from tests.adapters.loans import Loans, kinds

CUSTOMERS = 20_000


def annealed(rate: float) -> Callable[[float], float]:
    return lambda remaining: rate * remaining


def train_loans(seed: int, goal: str | None, steps: int = 200_000) -> dict[str, Any]:
    """PPO on the environment of the tests, with the same hyperparameters with and without a goal."""
    torch.set_num_threads(1)
    model = PPO(
        "MlpPolicy",
        DummyVecEnv([Loans] * 64),
        learning_rate=annealed(1e-3),
        n_steps=32,
        batch_size=256,
        n_epochs=5,
        gamma=1.0,
        seed=seed,
        device="cpu",
    )
    model.learn(steps, callback=BisimulatorCallback(goal=goal) if goal else None)
    metrics = bisimulator.group_metrics(
        SyncVectorEnv([Loans] * 200), model, episodes=CUSTOMERS, seed=1_000_000 * (1 + seed), accepted=kinds
    )
    return {
        "return": metrics.average_return.estimate,
        "approval": [x.estimate for x in metrics.approval],
        "approval_gap": metrics.gaps["approval"].estimate,
        "best_action_gap": metrics.kind(1).gaps["approval"].estimate,
    }


def train_lending(seed: int, goal: str | None, steps: int = 400_000) -> dict[str, Any]:
    """PPO on the life view, with nothing discounted; other hyperparameters as in `bisimulator.train` with a goal."""
    torch.set_num_threads(1)
    model = PPO(
        "MlpPolicy",
        BisimulatorVecEnv("lending", 32, view="life"),
        learning_rate=annealed(3e-4),
        n_steps=16,
        batch_size=256,
        n_epochs=5,
        gamma=1.0,
        ent_coef=0.02,
        policy_kwargs={
            "features_extractor_class": StretchedInputs,
            "net_arch": {"pi": [256], "vf": [256]},
        },
        seed=seed,
        device="cpu",
    )
    model.learn(steps, callback=BisimulatorCallback(goal=goal) if goal else None)
    env = bisimulator.make("lending")
    exact = exact_evaluation(env, as_policy(model, deterministic=False))
    assert exact is not None
    return {"return": float(exact.average_return), "recall": [float(x) for x in exact.recall]}


ROWS = {
    "loans": (train_loans, (None, "approval-gap=0.05")),
    "lending": (train_lending, ("min-recall=0.9",)),
}


def loans_table(results: dict[str | None, list[dict[str, Any]]]) -> str:
    lines = [
        "| PPO on loans | return | loss | approval gap | largest of a seed | best-action gap |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    base = np.mean([run["return"] for run in results[None]])
    for goal, runs in results.items():
        value, gap, best = (
            np.array([run[name] for run in runs]) for name in ("return", "approval_gap", "best_action_gap")
        )
        loss = f"{100 * (1 - value.mean() / base):.1f}%" if goal else ""
        lines.append(
            f"| {goal or 'plain'} | {value.mean():.3f} | {loss} | {gap.mean():.3f} | {gap.max():.3f} "
            f"| {best.mean():.3f} |"
        )
    return "\n".join(lines)


def lending_table(results: dict[str | None, list[dict[str, Any]]]) -> str:
    lines = [
        "| PPO on lives of lending | return | lowest recall | of a seed | best stationary there | share |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    env = bisimulator.make("lending")
    for goal, runs in results.items():
        value, lowest = (
            np.array([run["return"] for run in runs]),
            np.array([min(run["recall"]) for run in runs]),
        )
        best = bisimulator.frontier(env, "min-recall", [lowest.mean()]).stationary_value[0]
        lines.append(
            f"| {goal} | {value.mean():.0f} | {lowest.mean():.3f} | {lowest.min():.3f} | {best:.0f} "
            f"| {100 * value.mean() / best:.1f}% |"
        )
    return "\n".join(lines)


def main(
    seeds: int = 5, first_seed: int = 0, out: Path = Path("runs/sb3-goals"), rows: str = "loans,lending"
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    tables = []
    for row in rows.split(","):
        train, goals = ROWS[row]
        results: dict[str | None, list[dict[str, Any]]] = {}
        for goal in goals:
            for seed in range(first_seed, first_seed + seeds):
                path = out / f"{row}-{goal or 'plain'}-{seed}.json"
                if not path.exists():
                    files.write_json(path, train(seed, goal))
                results.setdefault(goal, []).append(json.loads(path.read_text()))
                print(f"{row:8} {goal or 'plain':18} seed {seed:3}  {results[goal][-1]}", flush=True)
        tables.append((loans_table if row == "loans" else lending_table)(results))
    print("\n\n".join(tables))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/sb3-goals"), help="folder for the results")
    parser.add_argument("--rows", default="loans,lending")
    main(**vars(parser.parse_args()))
