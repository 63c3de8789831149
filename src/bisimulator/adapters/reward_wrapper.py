"""The reward correction as a Gymnasium wrapper: the reward becomes r + alpha * R_phi, and decisions are recorded."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from bisimulator.adapters._pytrees import add_batch_axis, copy_arrays
from bisimulator.adapters.corrector import Corrector
from bisimulator.adapters.group_info import Info, groups_of, missing_group


class BisimulatorRewardWrapper(gymnasium.Wrapper[ObsType, ActType, ObsType, ActType]):
    """Corrects the rewards of one environment; the environment's own reward is in `info["original_reward"]`.

    Call `env.corrector.learn()` before each update of the solver.

    Args:
        env: an environment that names groups (see `check_group_env`).
        corrector: a correction that several environments share; by default a new one.
        **options: keywords of `Corrector.from_env`, such as `alpha`, `score` and `batch`.

    Raises:
        ValueError: if the environment does not say how many groups there are, or a value is wrong.
        TypeError: if there is no such option.

    Example:
        >>> env = BisimulatorRewardWrapper(gymnasium.make("bisimulator/Lending-v0"), batch=256)
        >>> obs, info = env.reset(seed=0)
        >>> obs, reward, terminated, truncated, info = env.step(1)
        >>> env.corrector.learn()  # False until 256 decisions are recorded
        False
    """

    def __init__(
        self, env: gymnasium.Env[ObsType, ActType], corrector: Corrector | None = None, **options: Any
    ) -> None:
        super().__init__(env)
        self.corrector = corrector or Corrector.from_env(env, **options)
        self._obs: ObsType | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, Info]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._obs = obs
        return obs, info

    def step(self, action: ActType) -> tuple[ObsType, SupportsFloat, bool, bool, Info]:
        before = add_batch_axis(self._obs)
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._obs = obs
        if "group" not in info:
            raise missing_group()
        actions, groups = np.asarray(action)[None], np.array([info["group"]])
        correction = float(self.corrector.correction(before, actions, groups)[0])
        self.corrector.record(before, actions, np.array([reward]), groups)
        info = {**info, "original_reward": reward}
        return obs, float(reward) + correction, terminated, truncated, info


class BisimulatorVectorRewardWrapper(VectorWrapper[ObsType, ActType, ObsType, ActType, NDArray[np.generic]]):
    """Corrects the rewards of a vector environment, in any autoreset mode.

    The environment's own rewards are in `info["original_reward"]`. Call `envs.corrector.learn()` before each update of
    the solver.

    Args:
        env: a vector environment that names groups (see `check_group_env`).
        corrector: a correction that several environments share; by default a new one.
        **options: keywords of `Corrector.from_env`, such as `alpha`, `score` and `batch`.

    Raises:
        ValueError: if the environment does not say how many groups there are, or a value is wrong.
        TypeError: if there is no such option.

    Example:
        >>> envs = gymnasium.make_vec("bisimulator/Lending-v0", num_envs=64)
        >>> envs = BisimulatorVectorRewardWrapper(envs, alpha=2.0)
        >>> obs, info = envs.reset(seed=0)
        >>> obs, rewards, terminated, truncated, info = envs.step(envs.action_space.sample())
        >>> envs.corrector.recorded
        64
    """

    def __init__(
        self,
        env: VectorEnv[ObsType, ActType, NDArray[np.generic]],
        corrector: Corrector | None = None,
        **options: Any,
    ) -> None:
        super().__init__(env)
        self.corrector = corrector or Corrector.from_env(env, **options)
        self._obs: ObsType | None = None
        self._ended = np.zeros(env.num_envs, bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[ObsType, Info]:
        # Gymnasium's own vector environments take lists of seeds
        obs, info = self.env.reset(seed=seed, options=options)  # type: ignore[arg-type]
        self._obs, self._ended = copy_arrays(obs), np.zeros(self.num_envs, bool)
        return obs, info

    def step(
        self, actions: ActType
    ) -> tuple[ObsType, NDArray[np.generic], NDArray[np.generic], NDArray[np.generic], Info]:
        before = self._obs
        obs, rewards, terminated, truncated, info = self.env.step(actions)
        self._obs = copy_arrays(obs)  # a vector environment may write the next ones into the same arrays
        group = groups_of(info, self.num_envs)
        if (group < 0).all() and not self._ended.all():  # a step that only resets decides on nobody
            raise missing_group()
        self._ended = np.logical_or(terminated, truncated)
        correction = self.corrector.correction(before, np.asarray(actions), group)
        self.corrector.record(before, np.asarray(actions), rewards, group)
        info = {**info, "original_reward": rewards, "_original_reward": group >= 0}
        return obs, np.add(rewards, correction), terminated, truncated, info
