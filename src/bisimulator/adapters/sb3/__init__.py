"""The Bisimulator with the unmodified solvers of Stable-Baselines3 (extra `sb3`)."""

import importlib.util

if importlib.util.find_spec("stable_baselines3") is None:
    raise ImportError("bisimulator.adapters.sb3 needs Stable-Baselines3; pip install 'bisimulator[sb3]'")

from bisimulator.adapters.sb3.callback import BisimulatorCallback
from bisimulator.adapters.sb3.model_policy import ModelPolicy, StretchedInputs, as_policy
from bisimulator.adapters.sb3.saving import load, save
from bisimulator.adapters.sb3.vec_env import BisimulatorVecEnv

__all__ = [
    "BisimulatorCallback",
    "BisimulatorVecEnv",
    "ModelPolicy",
    "StretchedInputs",
    "as_policy",
    "load",
    "save",
]
