"""Saves a Stable-Baselines3 model (`NAME.zip`) together with what its callback learned (`NAME.bisimulator.npz`)."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.type_aliases import GymEnv

from bisimulator import files
from bisimulator.adapters._corrections import Corrections
from bisimulator.adapters.sb3._omega_search import MakeEnv
from bisimulator.adapters.sb3._replay_rewards import ReplayOutcomes
from bisimulator.adapters.sb3.callback import BisimulatorCallback
from bisimulator.errors import check_path

Model = TypeVar("Model", bound=BaseAlgorithm)


def save(path: str | Path, model: BaseAlgorithm, callback: BisimulatorCallback) -> None:
    """Save a model and its correction in two files.

    Args:
        path: where to save, with or without `.zip`. The correction goes to `PATH.bisimulator.npz`, which holds plain
            arrays and no pickle.
        model: the model.
        callback: the callback that it was trained with.

    Example:
        >>> save("runs/lending", model, callback)
    """
    base = _without_suffix(path)
    corrections = callback.prepare(model)
    arrays: dict[str, NDArray[np.generic]] = {
        "settings": np.array(json.dumps(_settings(callback, corrections))),
        **corrections.state_dict(),
    }
    if callback.replay_outcomes is not None:
        arrays |= callback.replay_outcomes.state_dict()
    base.parent.mkdir(parents=True, exist_ok=True)
    model.save(base.with_name(f"{base.name}.zip"))
    files.write_arrays(_correction_file(base), arrays)


def load(
    path: str | Path,
    algorithm: type[Model],
    env: GymEnv,
    *,
    dynamics_env: MakeEnv | None = None,
    **options: Any,
) -> tuple[Model, BisimulatorCallback]:
    """Load a model and its callback, ready to continue training; the learned omega is set in `env`.

    Stable-Baselines3's file contains pickled objects: load only files that you trust.

    Args:
        path: as for `save`.
        algorithm: the class of the model, such as `PPO`.
        env: the environment to continue in.
        dynamics_env: as for `BisimulatorCallback`.
        **options: `accepted`, `score` and `reject`, if the callback had them; all others go to `algorithm.load`.

    Returns:
        The model and its callback.

    Raises:
        FileNotFoundError: if there is no saved correction.
        ValueError: if it was saved for another environment or configuration.

    Example:
        >>> model, callback = load("runs/lending", PPO, venv)
        >>> model.learn(10_000, callback=callback, reset_num_timesteps=False)
    """
    base = _without_suffix(path)
    if not _correction_file(base).exists():
        raise FileNotFoundError(
            f"{_correction_file(base)} is missing; load a model that was saved without a correction with "
            f"{algorithm.__name__}.load({str(path)!r})"
        )
    arrays = files.read_arrays(_correction_file(base))
    settings = json.loads(str(arrays.pop("settings")))
    again = {name: options.pop(name) for name in ("accepted", "score", "reject") if name in options}
    callback = BisimulatorCallback(dynamics_env=dynamics_env, **_with_tuples(settings), **again)
    model = algorithm.load(base.with_name(f"{base.name}.zip"), env=env, **options)
    corrections = callback.prepare(model)
    corrections.load_state_dict(arrays)
    callback.replay_outcomes = ReplayOutcomes.from_state_dict(arrays)
    venv, corrector = model.get_env(), corrections.corrector
    if corrector is not None and corrector.omega.size and venv is not None:
        venv.env_method("set_observation_params", corrector.omega)
    return model, callback


def _settings(callback: BisimulatorCallback, corrections: Corrections) -> dict[str, Any]:
    """The keywords with which the callback is made again; functions are left out."""
    corrector, goal = corrections.corrector, corrections.goal
    settings: dict[str, Any] = {"every": callback.every}
    if goal is not None:
        settings["num_groups"] = goal.num_groups
        if goal.goal.demands:
            settings["goal"] = goal.goal.to_json()
            settings["control"] = dataclasses.asdict(goal.controller.config)
    if corrector is not None:
        settings |= {"batch": corrector.batch, **dataclasses.asdict(corrector.config)}
    return settings


def _with_tuples(settings: Mapping[str, Any]) -> dict[str, Any]:
    """JSON has lists where the configuration has tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}


def _without_suffix(path: str | Path) -> Path:
    path = check_path("path", path)
    return path.with_suffix("") if path.suffix == ".zip" else path


def _correction_file(base: Path) -> Path:
    return base.with_name(f"{base.name}.bisimulator.npz")
