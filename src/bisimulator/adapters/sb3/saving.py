"""A Stable-Baselines3 model together with R_phi and omega: `NAME.zip`, which is theirs, and `NAME.bisimulator.npz`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm

from bisimulator import files
from bisimulator.adapters.sb3.callback import BisimulatorCallback

Model = TypeVar("Model", bound=BaseAlgorithm)


def save(path: str | Path, model: BaseAlgorithm, callback: BisimulatorCallback) -> None:
    """Both files; ours holds plain arrays and no pickle."""
    target = _base(path)
    corrector = callback.prepare(model)
    told = {
        "config": dataclasses.asdict(corrector.config),
        "batch": corrector.batch,
        "num_groups": corrector.encoding.num_groups,
        "every": callback.every,
    }
    arrays: dict[str, Any] = {"settings": np.array(json.dumps(told)), **corrector.arrays()}
    if callback.replay_group is not None:
        arrays["replay_group"] = callback.replay_group
    target.parent.mkdir(parents=True, exist_ok=True)
    model.save(target.with_name(f"{target.name}.zip"))
    files.write_arrays(_ours(target), arrays)


def load(
    path: str | Path, kind: type[Model], env: Any, *, dynamics_env: Any = None, **options: Any
) -> tuple[Model, BisimulatorCallback]:
    """The model and its callback, ready to go on learning; omega is in force in `env`.

    `kind` is the solver's class, as in `load("lending", PPO, venv)`. `score` and `reject` are passed again if they were
    given; other `options` go to `kind.load`, which reads Stable-Baselines3's own file its own way: open only files that
    you trust.
    """
    target = _base(path)
    if not _ours(target).exists():
        raise FileNotFoundError(
            f"{_ours(target)} is missing; a model that was saved with model.save is read with {kind.__name__}.load"
        )
    arrays = files.read_arrays(_ours(target))
    told, group = json.loads(str(arrays.pop("settings"))), arrays.pop("replay_group", None)
    lists = {name: tuple(value) for name, value in told["config"].items() if isinstance(value, list)}
    again = {name: options.pop(name) for name in ("score", "reject") if name in options}
    callback = BisimulatorCallback(
        num_groups=told["num_groups"],
        every=told["every"],
        dynamics_env=dynamics_env,
        batch=told["batch"],
        **(told["config"] | lists | again),
    )
    model = kind.load(target.with_name(f"{target.name}.zip"), env=env, **options)
    corrector = callback.prepare(model)
    corrector.restore(arrays)
    callback.replay_group = group
    if corrector.omega.size:
        model.get_env().env_method("set_observation_params", corrector.omega)  # type: ignore[union-attr]
    return model, callback


def _base(path: str | Path) -> Path:
    path = Path(path)
    return path.with_suffix("") if path.suffix == ".zip" else path


def _ours(base: Path) -> Path:
    return base.with_name(f"{base.name}.bisimulator.npz")
