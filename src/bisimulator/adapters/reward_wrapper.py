"""The reward correction as a Gymnasium wrapper: the reward becomes r + alpha * R_phi, and decisions are recorded."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorWrapper

from bisimulator.adapters._pytrees import batch_of_one, copied
from bisimulator.adapters.corrector import Corrector
from bisimulator.adapters.group_info import groups_of, missing_group


class BisimulatorRewardWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One environment. Call `env.corrector.learn()` before each update of the solver.

    `options` are those of `Corrector.of`, or `corrector` is one that several environments share. The environment's own
    reward is in `info["original_reward"]`.
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], corrector: Corrector | None = None, **options: Any
    ) -> None:
        super().__init__(env)
        self.corrector = corrector or Corrector.of(env, **options)
        self._before: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._before, info = self.env.reset(seed=seed, options=options)
        return self._before, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        before = batch_of_one(self._before)
        self._before, reward, terminated, truncated, info = self.env.step(action)
        if "group" not in info:
            raise missing_group()
        decision = before, np.asarray(action)[None], np.array([info["group"]])
        extra = float(self.corrector.correction(*decision)[0])
        self.corrector.record(decision[0], decision[1], np.array([reward]), decision[2])
        info = {**info, "original_reward": reward}
        return self._before, float(reward) + extra, terminated, truncated, info


class BisimulatorVectorRewardWrapper(VectorWrapper[Any, Any, Any, Any, Any]):
    """A vector environment, in any autoreset mode; otherwise as `BisimulatorRewardWrapper`."""

    def __init__(self, env: Any, corrector: Corrector | None = None, **options: Any) -> None:
        super().__init__(env)
        self.corrector = corrector or Corrector.of(env, **options)
        self._before: Any = None
        self._ended = np.zeros(env.num_envs, bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observations, info = self.env.reset(seed=seed, options=options)
        self._before, self._ended = copied(observations), np.zeros(self.num_envs, bool)
        return observations, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        before = self._before
        observations, rewards, terminated, truncated, info = self.env.step(actions)
        self._before = copied(
            observations
        )  # a vector environment may write the next ones into the same arrays
        group = groups_of(info, self.num_envs)
        if (group < 0).all() and not self._ended.all():  # a step that only begins anew decides on nobody
            raise missing_group()
        self._ended = terminated | truncated
        extra = self.corrector.correction(before, actions, group)
        self.corrector.record(before, actions, rewards, group)
        info = {**info, "original_reward": rewards, "_original_reward": group >= 0}
        return observations, rewards + extra, terminated, truncated, info
