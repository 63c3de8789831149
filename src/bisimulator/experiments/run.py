"""Runs a job to its end, or takes up where it stopped, and keeps what it found.

A job's folder holds config.json, checkpoint.npz while it trains, weights.npz, learned.npz (omega and the like),
outcome.npz (what every metric is computed from), episodes.csv, and last of all `done`.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np

from bisimulator import registry
from bisimulator.core import Env, Outcome
from bisimulator.evaluation import Values, mean_and_interval, metric_columns, run_episodes
from bisimulator.experiments import files
from bisimulator.experiments.spec import Spec, spec_from_dict
from bisimulator.learn import trainer
from bisimulator.learn.trainer import Progress
from bisimulator.policies import Network, Rule


@dataclasses.dataclass(frozen=True)
class Result:
    """A finished job."""

    spec: Spec
    outcome: Outcome  # leading axes (seeds, episodes)
    learned: dict[str, np.ndarray]  # what the method reports of itself, leading axis seeds

    @cached_property
    def columns(self) -> dict[str, Values]:
        """metric -> (seeds, episodes)"""
        return metric_columns(self.spec.make_env(), self.outcome)

    @cached_property
    def summary(self) -> dict[str, tuple[float, float]]:
        return {name: mean_and_interval(values) for name, values in self.columns.items()}


def use_compilation_cache() -> None:
    """Keep compiled programs between starts, so that the second one does not compile again."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = os.environ.get("BISIMULATOR_CACHE") or str(Path(base) / "bisimulator")
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


def run(spec: Spec, out: Path, on_progress: Callable[[Progress], None] = lambda progress: None) -> Result:
    """The job's result, from its folder where it is finished."""
    folder = out / spec.name
    finished = load(folder, spec)
    if finished is not None:
        return finished
    use_compilation_cache()
    entry, env = (
        registry.lookup("method", spec.method),
        spec.make_env(),
    )  # wrong settings leave no folder behind
    files.write_json(folder / "config.json", spec.to_dict())
    if isinstance(entry, Rule):
        keys = trainer.evaluation_keys(spec.seeds, spec.episodes)
        result = Result(spec, run_episodes(env, entry.policy(env), keys), {})
    else:
        result = _train(spec, env, folder, on_progress)
    _store(result, folder)
    return result


def _train(spec: Spec, env: Env, folder: Path, on_progress: Callable[[Progress], None]) -> Result:
    solver = make_solver(spec, env)
    checkpoint = folder / "checkpoint.npz"
    like = jax.eval_shape(lambda: trainer.init(env, solver, spec.seeds))
    training = trainer.train(
        env,
        solver,
        spec.seeds,
        training=files.read_or_set_aside(checkpoint, lambda path: files.read_tree(path, like)),
        on_progress=on_progress,
        on_checkpoint=lambda training: files.write_tree(checkpoint, training),
    )
    outcome = trainer.evaluate_training(
        env, solver, training, spec.seeds, episodes=spec.episodes, greedy=spec.greedy
    )
    files.write_tree(folder / "weights.npz", [(part.theta, part.method) for part in training])
    checkpoint.unlink(missing_ok=True)
    return Result(spec, outcome, trainer.describe(solver, training))


def make_solver(spec: Spec, env: Env) -> Any:
    entry = registry.lookup("method", spec.method)
    return trainer.make_solver(entry, env, spec.steps, spec.solver, spec.config)


def _store(result: Result, folder: Path) -> None:
    outcome = {f.name: getattr(result.outcome, f.name) for f in dataclasses.fields(result.outcome)}
    files.write_arrays(folder / "outcome.npz", outcome)
    files.write_arrays(folder / "learned.npz", result.learned)
    files.write_csv(folder / "episodes.csv", EPISODE_COLUMNS, episode_rows(result))
    files.write_bytes(folder / "done", b"")


def load(folder: Path, spec: Spec | None = None) -> Result | None:
    """A finished job's result; None where it is not finished or a file is damaged."""
    if not (folder / "done").exists():
        return None
    outcome = files.read_or_set_aside(folder / "outcome.npz", read_outcome)
    learned = files.read_or_set_aside(folder / "learned.npz", files.read_arrays)
    if spec is None:
        spec = files.read_or_set_aside(
            folder / "config.json", lambda p: spec_from_dict(json.loads(p.read_text()))
        )
    if outcome is None or learned is None or spec is None:
        (folder / "done").unlink()
        return None
    return Result(spec, outcome, learned)


def load_policies(folder: Path) -> tuple[Result, list[tuple[Env, Network]]]:
    """A finished training's result, and each seed's policy with the environment as it sees it."""
    result = load(folder)
    if result is None:
        raise ValueError(f"{folder} holds no finished job; name a folder such as runs/lending/ppo-0123456789")
    spec, env = result.spec, result.spec.make_env()
    if spec.solver is None:
        raise ValueError(f"{folder} holds {spec.method!r}, which was not trained; it has no network")
    solver = make_solver(spec, env)
    start = jax.eval_shape(lambda: trainer.init(env, solver, spec.seeds))
    weights = files.read_tree(folder / "weights.npz", [(part.theta, part.method) for part in start])
    policies = []
    for theta, method in weights:
        for i in range(jax.tree.leaves(theta)[0].shape[0]):
            one_theta, one_method = jax.tree.map(lambda x, i=i: x[i], (theta, method))
            seen = dataclasses.replace(env, params=solver.method.observe_params(one_method, env.params))
            policies.append((seen, Network(solver.policy(one_theta), spec.greedy)))
    return result, policies


def find_runs(out: Path) -> list[Result]:
    """All finished jobs below a folder."""
    found = [load(done.parent) for done in sorted(out.rglob("done"))]
    return [result for result in found if result is not None]


def read_outcome(path: Path) -> Outcome:
    arrays: dict[str, Any] = files.read_arrays(path)
    return Outcome(**arrays)


EPISODE_COLUMNS = ("scenario", "method", "seed", "episode", "metric", "value")
SUMMARY_COLUMNS = ("scenario", "method", "metric", "mean", "ci95")


def episode_rows(result: Result) -> list[tuple[Any, ...]]:
    spec = result.spec
    return [
        (spec.scenario, spec.method, seed, episode, metric, repr(float(values[s, episode])))
        for metric, values in result.columns.items()
        for s, seed in enumerate(spec.seeds)
        for episode in range(values.shape[1])
    ]


def summary_rows(result: Result) -> list[tuple[Any, ...]]:
    spec = result.spec
    return [
        (spec.scenario, spec.method, metric, repr(mean), repr(ci95))
        for metric, (mean, ci95) in result.summary.items()
    ]
