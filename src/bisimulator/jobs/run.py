"""Runs a job to its end, or resumes it, and stores its result."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import jax

from bisimulator import files, registry
from bisimulator.core import Env
from bisimulator.evaluation import run_episodes
from bisimulator.jobs import _checkpoint as checkpoint
from bisimulator.jobs._checkpoint import Checkpoint
from bisimulator.jobs._lock import Busy, only_one, remove_stale
from bisimulator.jobs.learning_curves import Recorder
from bisimulator.jobs.spec import Spec
from bisimulator.jobs.store import Result, load, save
from bisimulator.policies import Rule
from bisimulator.simulation import check_memory, evaluation_keys
from bisimulator.solvers import trainer
from bisimulator.solvers._shards import Shards
from bisimulator.solvers.trainer import Progress

OnProgress = Callable[[Progress], None]

_SECONDS_WORTH_CACHING = 0.5  # of compiling


def use_compilation_cache() -> None:
    """Cache compiled programs on disk, so that a second start does not compile again."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = os.environ.get("BISIMULATOR_CACHE") or str(Path(base) / "bisimulator")
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", _SECONDS_WORTH_CACHING)


def run(
    spec: Spec,
    out: Path,
    on_progress: OnProgress = lambda progress: None,
    *,
    patience: float = math.inf,
) -> Result:
    """The job's result; loaded if it is finished.

    If another process works on it, its result is waited for; after `patience` seconds `Busy` is raised.
    """
    folder = out / spec.name
    finished = load(folder, spec)
    if finished is not None:
        remove_stale(folder)
        return finished
    spec.make_env()  # wrong settings leave no folder
    use_compilation_cache()
    try:
        with only_one(folder, patience=0):
            return _run_alone(spec, folder, on_progress)
    except Busy:
        if patience <= 0:
            raise
    warnings.warn(f"another process works on {folder}; waiting for its result", stacklevel=2)
    with only_one(folder, patience):
        return _run_alone(spec, folder, on_progress)


def _run_alone(spec: Spec, folder: Path, on_progress: OnProgress) -> Result:
    finished = load(folder, spec)  # by another process meanwhile
    if finished is not None:
        return finished
    for path in files.temporary(folder):
        path.unlink()
    entry, env = registry.lookup("method", spec.method), spec.make_env()
    files.write_json(folder / "config.json", spec.to_dict())
    if isinstance(entry, Rule):
        began, keys = time.monotonic(), evaluation_keys(spec.seeds, spec.episodes)
        outcome = run_episodes(env, entry.build(spec.config, env), keys)
        result = Result(spec, outcome, {}, seconds=time.monotonic() - began)
    else:
        result = _train(spec, env, folder, on_progress)
    save(result, folder)
    return result


def _train(spec: Spec, env: Env, folder: Path, on_progress: OnProgress) -> Result:
    # a trained policy's episodes are evaluated side by side; better to know before the training
    check_memory(env, len(spec.seeds) * max(spec.episodes, spec.curve_episodes))
    solver, path = spec.make_solver(env), folder / checkpoint.NAME
    rollouts = env.in_view(spec.view)
    like = trainer.init_shapes(rollouts, solver, spec.seeds)

    def read(path: Path) -> tuple[Checkpoint, Recorder]:
        kept = checkpoint.read_checkpoint(path, like)
        recorder = Recorder(spec, env, solver, kept.rows)
        recorder.check(int(kept.training[0].update))
        return kept, recorder

    began = time.monotonic()
    kept, recorder = files.read_or_set_aside(path, read) or (None, Recorder(spec, env, solver))
    before = kept.seconds if kept else 0.0

    def keep(training: Shards) -> None:
        seconds = before + time.monotonic() - began
        Checkpoint(training, recorder.rows, seconds, solver.updates).write(path)

    training = trainer.train(
        env,
        solver,
        spec.seeds,
        view=spec.view,
        training=kept.training if kept else None,
        on_progress=on_progress,
        evaluate_at=recorder.points,
        on_evaluate=recorder,
        on_checkpoint=keep,
    )
    outcome = recorder.evaluate(training, spec.episodes)
    return Result(
        spec,
        outcome,
        trainer.describe(solver, training),
        recorder.curves(),
        seconds=before + time.monotonic() - began,
        weights=[(shard.theta, shard.method) for shard in training],
    )
