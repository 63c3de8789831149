"""Many copies of one of our environments as a Stable-Baselines3 `VecEnv`: one compiled program for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv

from bisimulator.adapters.gymnasium.vector_env import BisimulatorVectorEnv

_SMALL = ("group", "qualified", "cost")


class BisimulatorVecEnv(VecEnv):
    """`num_envs` copies; `scenario` and `params` as for `bisimulator.make`.

    Every copy's `info` is the single environment's, with Stable-Baselines3's `terminal_observation` and
    `TimeLimit.truncated` at the end of an episode.
    """

    def __init__(self, scenario: str = "lending", num_envs: int = 8, **params: Any):
        self.envs = BisimulatorVectorEnv(scenario, num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **params)
        self._actions: NDArray[Any] = np.zeros(num_envs, np.int64)
        super().__init__(num_envs, self.envs.single_observation_space, self.envs.single_action_space)

    def reset(self) -> NDArray[np.float32]:
        observations, _ = self.envs.reset(seed=self._seeds)
        self._reset_seeds()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = np.asarray(actions)

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], list[dict]]:
        observations, rewards, terminated, truncated, info = self.envs.step(self._actions)
        infos = [_row(info, i) for i in range(self.num_envs)]
        ended = terminated | truncated
        for i in np.flatnonzero(ended).tolist():
            infos[i] = _row(info["final_info"], i) | {
                "outcome": {
                    k: v[i] for k, v in info["final_info"]["outcome"].items() if not k.startswith("_")
                },
                "terminal_observation": info["final_obs"][i],
            }
        for i, one in enumerate(infos):
            one["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
        return observations, rewards, ended, infos

    def close(self) -> None:
        self.envs.close()

    def has_attr(self, attr_name: str) -> bool:
        return hasattr(self.envs, attr_name)

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        self._all(indices, attr_name)
        setattr(self.envs, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        number = self._all(indices, method_name)
        return [getattr(self.envs, method_name)(*method_args, **method_kwargs)] * number

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        return self.envs.render()

    def _all(self, indices: Any, name: str) -> int:
        """The copies are one program: what is changed is changed in all of them."""
        chosen: Iterable[int] = self._get_indices(indices)
        if sorted(chosen) != list(range(self.num_envs)):
            raise ValueError(
                f"{name} is one for all {self.num_envs} copies, not for copies {indices}; leave indices out"
            )
        return self.num_envs


def _row(info: dict[str, Any], copy: int) -> dict[str, Any]:
    """One copy's part of a vector environment's `info`."""
    row = {name: info[name][copy].item() for name in _SMALL}
    return row | {"next_self_observation": info["next_self_observation"][copy]}
