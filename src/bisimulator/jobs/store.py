"""What is stored of a job, one folder each.

config.json, checkpoint.npz during training, weights.npz, learned.npz (omega and the like), outcome.npz (from which
every metric is computed), episodes.csv, curves.npz, timing.json, and last of all `done`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import jax
import numpy as np
from jaxtyping import PyTree

from bisimulator import files
from bisimulator.core import Env, Outcome, Values
from bisimulator.evaluation import mean_and_interval, metric_columns
from bisimulator.jobs import _checkpoint as checkpoint
from bisimulator.jobs.learning_curves import Curves, curves_from_arrays
from bisimulator.jobs.spec import Spec, spec_from_dict
from bisimulator.policies import Network
from bisimulator.solvers import trainer

DONE = "done"
Weights: TypeAlias = list[tuple[PyTree, PyTree]]
EPISODE_COLUMNS = ("scenario", "method", "seed", "episode", "metric", "value")
SUMMARY_COLUMNS = ("scenario", "method", "metric", "mean", "ci95")


@dataclasses.dataclass(frozen=True)
class Result:
    """A finished job."""

    spec: Spec
    outcome: Outcome  # leading axes (seeds, episodes)
    learned: dict[str, np.ndarray]  # what the method reports of itself, leading axis seeds
    curves: Curves | None = None  # None if nothing was trained
    seconds: float = math.nan  # spent on it, over all starts
    weights: Weights | None = None  # theta and the method's state of each shard of seeds

    @cached_property
    def columns(self) -> dict[str, Values]:
        """metric -> (seeds, episodes)"""
        return metric_columns(self.spec.make_env(), self.outcome)

    @cached_property
    def summary(self) -> dict[str, tuple[float, float]]:
        return {name: mean_and_interval(values) for name, values in self.columns.items()}


def save(result: Result, folder: Path) -> None:
    outcome = {f.name: getattr(result.outcome, f.name) for f in dataclasses.fields(result.outcome)}
    files.write_arrays(folder / "outcome.npz", outcome)
    files.write_arrays(folder / "learned.npz", result.learned)
    if result.weights is not None:
        files.write_tree(folder / "weights.npz", result.weights)
    if result.curves is not None:
        files.write_arrays(folder / "curves.npz", result.curves.arrays())
    files.write_csv(folder / "episodes.csv", EPISODE_COLUMNS, episode_rows(result))
    files.write_json(folder / "timing.json", {"seconds": result.seconds})
    files.write_bytes(folder / DONE, b"")
    (folder / checkpoint.NAME).unlink(missing_ok=True)  # until now a kill may need it


def load(folder: Path, spec: Spec | None = None) -> Result | None:
    """A finished job's result; None if it is not finished, a file is damaged, or another version made it.

    `spec`: what it must be the result of; by default what its stored configuration says.
    """
    if not (folder / DONE).exists():
        return None
    of = spec or _stored_spec(folder)
    if of is None:
        return None
    outcome = files.read_or_set_aside(folder / "outcome.npz", read_outcome)
    learned = files.read_or_set_aside(folder / "learned.npz", files.read_arrays)
    curves = files.read_or_set_aside(folder / "curves.npz", _read_curves)
    seconds = files.read_or_set_aside(folder / "timing.json", _read_seconds)
    lacks_curves = spec is not None and spec.curve_every > 0 and curves is None
    if outcome is None or learned is None or lacks_curves:
        (folder / DONE).unlink(missing_ok=True)
        return None
    return Result(of, outcome, learned, curves, math.nan if seconds is None else seconds)


def _stored_spec(folder: Path) -> Spec | None:
    config = files.read_or_set_aside(folder / "config.json", _read_config)
    if config is None:
        (folder / DONE).unlink(missing_ok=True)
        return None
    try:
        return spec_from_dict(config)
    except (KeyError, TypeError, ValueError) as error:
        made = f"version {config.get('package')} of the package"
        warnings.warn(f"{folder} is left out: {made} made it, and here {error}", stacklevel=3)
        return None


def load_policies(folder: Path) -> tuple[Result, list[tuple[Env, Network]]]:
    """A finished training's result, and each seed's policy with the environment as it sees it."""
    result = load(folder)
    if result is None:
        raise ValueError(f"{folder} holds no finished job; `bisimulator runs list` shows those that are")
    result = with_weights(result, folder)
    return result, [trained_policy(result, seed) for seed in result.spec.seeds]


def with_weights(result: Result, folder: Path) -> Result:
    """The result with the networks of all seeds, from the job's folder."""
    spec, env = result.spec, result.spec.make_env()
    if spec.solver is None:
        raise ValueError(f"{folder} holds {spec.method!r}, which is not trained; it has no network")
    solver = spec.make_solver(env)
    start = jax.eval_shape(lambda: trainer.init(env, solver, spec.seeds))
    like = [(shard.theta, shard.method) for shard in start]
    weights = files.read_or_set_aside(folder / "weights.npz", lambda path: files.read_tree(path, like))
    if weights is None:
        (folder / DONE).unlink(missing_ok=True)
        raise ValueError(f"{folder} has lost its networks; run the job again with the command that made it")
    return dataclasses.replace(result, weights=weights)


def trained_policy(result: Result, seed: int) -> tuple[Env, Network]:
    """One seed's policy, and the environment as the policy sees it."""
    spec, env = result.spec, result.spec.make_env()
    if seed not in spec.seeds:
        raise ValueError(f"seed {seed} was not trained; choose one of {', '.join(map(str, spec.seeds))}")
    assert result.weights is not None
    solver, index = spec.make_solver(env), spec.seeds.index(seed)
    for theta, method in result.weights:
        size = jax.tree.leaves(theta)[0].shape[0]
        if index < size:
            theta, method = jax.tree.map(lambda x, i=index: x[i], (theta, method))
            observed = solver.method.observe_params(method, env.params)
            if observed is not env.params:
                env = env.with_omega(observed.omega)
            return env, Network(solver.policy(theta), spec.greedy)
        index -= size
    raise AssertionError("every seed is in a shard")


def find_runs(out: Path) -> list[Result]:
    """All finished jobs below a folder."""
    found = [load(done.parent) for done in sorted(out.rglob(DONE))]
    return [result for result in found if result is not None]


def read_outcome(path: Path) -> Outcome:
    arrays: dict[str, Any] = files.read_arrays(path)
    return Outcome(**arrays)


def _read_config(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


def _read_curves(path: Path) -> Curves:
    return curves_from_arrays(files.read_arrays(path))


def _read_seconds(path: Path) -> float:
    return float(json.loads(path.read_text())["seconds"])


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
