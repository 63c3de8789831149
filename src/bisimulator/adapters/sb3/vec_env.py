"""A batch of the library's environments as a Stable-Baselines3 `VecEnv`: one compiled program steps all of them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices

from bisimulator.adapters.group_info import Info
from bisimulator.adapters.gymnasium._info import info_of_one
from bisimulator.adapters.gymnasium.vector_env import BisimulatorVectorEnv


class BisimulatorVecEnv(VecEnv):
    """A batch of the library's environments for Stable-Baselines3.

    Each `info` is the one of `BisimulatorEnv`, with Stable-Baselines3's `terminal_observation` and
    `TimeLimit.truncated` at the end of an episode.

    Args:
        scenario: a name of `bisimulator list`, such as "lending".
        num_envs: how many environments there are.
        **params: parameters of the scenario, as for `bisimulator.make`, and `render_mode`.

    Raises:
        ValueError: if an argument has a wrong value.
        TypeError: if the scenario has no such parameter.

    Example:
        >>> venv = BisimulatorVecEnv("lending", num_envs=8, population=100)
        >>> model = PPO("MlpPolicy", venv).learn(10_000, callback=BisimulatorCallback())
    """

    def __init__(self, scenario: str = "lending", num_envs: int = 8, **params: Any) -> None:
        self.envs = BisimulatorVectorEnv(scenario, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **params)
        self._actions: NDArray[np.generic] = np.zeros(num_envs, np.int64)
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)

    def reset(self) -> NDArray[np.float32]:
        observations, _ = self.envs.reset(seed=self._seeds)
        self._reset_seeds()
        return observations

    def step_async(self, actions: NDArray[np.generic]) -> None:
        self._actions = np.asarray(actions)

    def step_wait(
        self,
    ) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], list[Info]]:
        observations, rewards, terminated, truncated, info = self.envs.step(self._actions)
        infos = [info_of_one(info, i) for i in range(self.num_envs)]
        ended = terminated | truncated
        for i in np.flatnonzero(ended).tolist():
            infos[i] = _final_info(info, i)
        for i, one in enumerate(infos):
            one["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return observations, rewards, ended, infos

    def close(self) -> None:
        self.envs.close()

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self.envs, attr_name)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: object, indices: VecEnvIndices = None) -> None:
        self._check_all(indices, attr_name)
        setattr(self.envs, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        self._check_all(indices, method_name)
        return [getattr(self.envs, method_name)(*method_args, **method_kwargs)] * self.num_envs

    def env_is_wrapped(
        self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None
    ) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        return self.envs.render()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.envs.env}, num_envs={self.num_envs})"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def _check_all(self, indices: VecEnvIndices, name: str) -> None:
        """All environments are one program, so a change applies to all of them."""
        if sorted(self._get_indices(indices)) != list(range(self.num_envs)):
            raise ValueError(
                f"{name} is the same for all {self.num_envs} environments, got indices={indices}; leave indices out"
            )


def _final_info(info: Info, index: int) -> Info:
    """The `info` of an environment whose episode ended in this step."""
    final = info["final_info"]
    outcome = {name: value[index] for name, value in final["outcome"].items() if not name.startswith("_")}
    return {**info_of_one(final, index), "outcome": outcome, "terminal_observation": info["final_obs"][index]}
