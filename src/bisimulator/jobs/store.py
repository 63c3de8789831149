"""What is stored of a job, one folder each.

config.json, checkpoint.npz during training, weights.npz, learned.npz (omega and the like), outcome.npz (from which
every metric is computed), episodes.csv, curves.npz, timing.json, and last of all `done`, the seal of all of them.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import warnings
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import jax
import numpy as np
from jaxtyping import PyTree

from bisimulator import files, registry
from bisimulator._html import code_html
from bisimulator.core import Env, Outcome, Values
from bisimulator.evaluation import mean_and_interval, metric_columns
from bisimulator.jobs import _checkpoint as checkpoint
from bisimulator.jobs._platform import platform_in_words
from bisimulator.jobs.learning_curves import Curves, curves_from_arrays
from bisimulator.jobs.seal import CONFIG, DONE, below, broken, read_config, seal, sealed_version
from bisimulator.jobs.spec import VERSION, Spec, spec_from_dict
from bisimulator.policies import Network, Policy, Rule
from bisimulator.solvers import trainer

WEIGHTS = "weights.npz"
_LOADED = (CONFIG, "outcome.npz", "learned.npz", "curves.npz")  # what a result is made of
Weights: TypeAlias = list[tuple[PyTree, PyTree]]
EPISODE_COLUMNS = ("scenario", "method", "seed", "episode", "metric", "value")
SUMMARY_COLUMNS = ("scenario", "method", "metric", "mean", "ci95")


@dataclasses.dataclass(frozen=True, repr=False)
class Result:
    """A finished job."""

    spec: Spec
    outcome: Outcome  # leading axes (seeds, episodes)
    learned: dict[str, np.ndarray]  # what the method reports of itself, leading axis seeds
    curves: Curves | None = None  # None if nothing was trained
    seconds: float = math.nan  # spent on it, over all starts
    weights: Weights | None = None  # theta and the method's state of each shard of seeds
    folder: Path | None = None  # where it was loaded from
    platform: str = dataclasses.field(default_factory=platform_in_words)  # that computed it

    @cached_property
    def columns(self) -> dict[str, Values]:
        """metric -> (seeds, episodes)"""
        return metric_columns(self.spec.make_env(), self.outcome)

    @cached_property
    def summary(self) -> dict[str, tuple[float, float]]:
        return {name: mean_and_interval(values) for name, values in self.columns.items()}

    def __repr__(self) -> str:
        spec = self.spec
        return f"Result({spec.name}, {len(spec.seeds)} seeds x {spec.episodes} episodes)"

    def _repr_html_(self) -> str:
        return code_html(repr(self))


def save(result: Result, folder: Path) -> None:
    files.write_arrays(folder / "outcome.npz", result.outcome.arrays())
    files.write_arrays(folder / "learned.npz", result.learned)
    if result.weights is not None:
        files.write_tree(folder / WEIGHTS, result.weights)
    if result.curves is not None:
        files.write_arrays(folder / "curves.npz", result.curves.arrays())
    files.write_csv(folder / "episodes.csv", EPISODE_COLUMNS, episode_rows(result))
    files.write_json(folder / "timing.json", {"seconds": result.seconds, "platform": result.platform})
    seal(folder)
    (folder / checkpoint.NAME).unlink(missing_ok=True)  # until now a kill may need it


def load(folder: Path, spec: Spec | None = None) -> Result | None:
    """A finished job's result; None if it is not finished, not as it was sealed, or of another version.

    With `spec`, for whoever computes it again, what is not as it was sealed is set aside. Otherwise nothing is touched.

    Raises:
        OSError: if a file cannot be read now.
    """
    if not (folder / DONE).exists():
        return None
    if spec is None and sealed_version(folder) != VERSION:
        _leave_out(folder, "another version of the package made it")
        return None
    wrong = broken(folder, _LOADED if spec is None else (*_LOADED, WEIGHTS))
    if wrong:
        if spec is None:
            _leave_out(folder, "; ".join(f"{name} {what}" for name, what in wrong.items()))
        else:
            _set_aside(folder, wrong)
        return None
    of = spec or _stored_spec(folder)
    if of is None:
        return None
    outcome, learned = read_outcome(folder / "outcome.npz"), files.read_arrays(folder / "learned.npz")
    curves = folder / "curves.npz"
    read = curves_from_arrays(files.read_arrays(curves)) if curves.exists() else None
    seconds, platform = _read_timing(folder / "timing.json")
    return Result(of, outcome, learned, read, seconds, folder=folder, platform=platform)


def _leave_out(folder: Path, reason: str) -> None:
    warnings.warn(
        f"{folder} is left out: {reason}; run the job again with the command that made it", stacklevel=3
    )


def _set_aside(folder: Path, wrong: Mapping[str, str]) -> None:
    """Keep the files under other names, and have the job computed again."""
    for name, what in wrong.items():
        with suppress(FileNotFoundError):  # the file, or because another process was faster
            os.replace(folder / name, folder / f"{name}{files.ASIDE}")
        warnings.warn(
            f"{folder / name} {what}; set aside as {name}{files.ASIDE} and computed again", stacklevel=3
        )
    (folder / DONE).unlink(missing_ok=True)


def _stored_spec(folder: Path) -> Spec | None:
    config = read_config(folder) or {}
    try:
        return spec_from_dict(config)
    except (KeyError, TypeError, ValueError) as error:
        made = f"version {config.get('package')} of the package"
        _leave_out(folder, f"{made} made it, and here {error}")
        return None


def load_policies(folder: Path) -> tuple[Result, list[tuple[Env, Network]]]:
    """A finished training's result, and each seed's policy with the environment as it sees it."""
    result = load(folder)
    if result is None:
        raise ValueError(f"{folder} holds no finished job; `bisimulator runs verify` says why")
    if result.spec.solver is None:
        raise ValueError(f"{folder} holds {result.spec.method!r}, which is not trained; it has no network")
    result = with_weights(result)
    return result, [_trained_policy(result, seed) for seed in result.spec.seeds]


def weight_shapes(spec: Spec) -> Weights:
    """The shapes of the networks and of the method's state of each shard of seeds."""
    env = spec.make_env()
    start = trainer.init_shapes(env, spec.make_solver(env), spec.seeds)
    return [(shard.theta, shard.method) for shard in start]


def with_weights(result: Result, like: Weights | None = None) -> Result:
    """The result with the networks of all seeds. If it was loaded, they are read from its folder; a rule has none.

    `like` are their shapes, for whoever knows them.
    """
    spec, folder = result.spec, result.folder
    if spec.solver is None or result.weights is not None or folder is None:
        return result
    like = weight_shapes(spec) if like is None else like
    wrong = broken(folder, [WEIGHTS])
    for name, what in wrong.items():
        raise ValueError(f"{folder / name} {what}; run the job again with the command that made it")
    return dataclasses.replace(result, weights=files.read_tree(folder / WEIGHTS, like))


def seed_policy(result: Result, seed: int) -> tuple[Env, Policy]:
    """One seed's policy, trained or not, and the environment as the policy sees it."""
    spec, entry = result.spec, registry.lookup("method", result.spec.method)
    if seed not in spec.seeds:
        raise ValueError(f"seed {seed} was not trained; choose one of {', '.join(map(str, spec.seeds))}")
    if isinstance(entry, Rule):
        env = spec.make_env()
        return env, entry.build(spec.config, env)
    return _trained_policy(result, seed)


def seed_policies(result: Result) -> list[tuple[Env, Policy]]:
    """Each seed's policy, and the environment as the policy sees it; empty if no network is stored."""
    result = with_weights(result)
    if result.spec.solver is not None and result.weights is None:
        return []
    return [seed_policy(result, seed) for seed in result.spec.seeds]


def _trained_policy(result: Result, seed: int) -> tuple[Env, Network]:
    spec, env = result.spec, result.spec.make_env()
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
    found = [load(done.parent) for done in below(out, DONE)]
    return [result for result in found if result is not None]


def read_outcome(path: Path) -> Outcome:
    return Outcome.from_arrays(files.read_arrays(path))


def _read_timing(path: Path) -> tuple[float, str]:
    """Seconds, and the platform; those that are not known are NaN and empty."""
    try:
        timing = json.loads(path.read_bytes())
        return float(timing["seconds"]), str(timing.get("platform", ""))
    except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return math.nan, ""


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
