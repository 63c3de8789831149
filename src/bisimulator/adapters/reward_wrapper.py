"""Corrected rewards as a Gymnasium wrapper: r + alpha * R_phi, a goal's correction, or both."""

from __future__ import annotations

from functools import partial
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.vector import VectorEnv, VectorWrapper
from numpy.typing import NDArray

from bisimulator.adapters._corrections import AnyGoal, Control, Corrections, make_corrections
from bisimulator.adapters._decisions import Accepted, read_infos, read_vector_info
from bisimulator.adapters._pytrees import add_batch_axis, copy_arrays
from bisimulator.adapters.corrector import Corrector
from bisimulator.adapters.goal_corrector import GoalCorrector
from bisimulator.adapters.group_info import Info, env_attribute, missing_group
from bisimulator.methods.bisimulator import PPO_BISIMULATOR_REWARD


class _Corrected:
    """What both wrappers offer."""

    corrections: Corrections

    @property
    def corrector(self) -> Corrector:
        """The learned correction R_phi."""
        if self.corrections.corrector is None:
            raise ValueError(
                "this wrapper pursues its goal alone, so it has no learned correction; call learn() of the wrapper "
                "itself, or pass an option of the Bisimulator, such as alpha=5, to have both"
            )
        return self.corrections.corrector

    @property
    def goal_corrector(self) -> GoalCorrector:
        """The goal's correction."""
        if self.corrections.goal is None:
            raise ValueError("this wrapper has no goal; pass goal='approval-gap=0.05', for example")
        return self.corrections.goal

    def learn(self) -> bool:
        """Improve the corrections on the decisions so far; False if there are not enough of them yet."""
        return self.corrections.learn()


class BisimulatorRewardWrapper(_Corrected, gymnasium.Wrapper[ObsType, ActType, ObsType, ActType]):
    """Corrects the rewards of one environment; the environment's own reward is in `info["original_reward"]`.

    Call `env.learn()` before each update of the solver.

    Args:
        env: an environment that names groups (see `check_group_env`).
        corrector: a learned correction that several environments share; by default a new one.
        goal: a fairness goal, such as "approval-gap=0.05", or a `GoalCorrector` that several environments share. With a
            goal and no `options`, the goal's correction is the only one.
        control: how the goal's multipliers are controlled: options of `GoalConfig`.
        accepted: which decisions accept, a function from a batch of actions to flags; by default `info["accepted"]`, or
            every action but the first.
        num_groups: how many groups there are, if the environment does not say so.
        **options: keywords of `Corrector.from_env`, such as `alpha`, `score` and `batch`.

    Raises:
        ValueError: if the environment does not say how many groups there are, or a value is wrong.
        TypeError: if there is no such option.

    Example:
        >>> env = BisimulatorRewardWrapper(gymnasium.make("bisimulator/Lending-v0"), goal="min-recall=0.9")
        >>> obs, info = env.reset(seed=0)
        >>> obs, reward, terminated, truncated, info = env.step(1)
        >>> env.learn()
        True
    """

    def __init__(
        self,
        env: gymnasium.Env[ObsType, ActType],
        corrector: Corrector | None = None,
        *,
        goal: AnyGoal = None,
        control: Control = None,
        accepted: Accepted | None = None,
        num_groups: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(env)
        self.corrections = make_corrections(
            (env.observation_space, env.action_space),
            partial(env_attribute, env),
            PPO_BISIMULATOR_REWARD.config,
            num_groups=num_groups,
            goal=goal,
            control=control,
            accepted=accepted,
            corrector=corrector,
            options=options,
        )
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
        decisions = self.corrections.decisions(
            before, np.asarray(action)[None], np.array([reward], np.float64), read_infos([info])
        )
        correction = float(self.corrections.correction(decisions)[0])
        self.corrections.record(decisions)
        info = {**info, "original_reward": reward}
        return obs, float(reward) + correction, terminated, truncated, info


class BisimulatorVectorRewardWrapper(
    _Corrected, VectorWrapper[ObsType, ActType, ObsType, ActType, NDArray[np.generic]]
):
    """Corrects the rewards of a vector environment, in any autoreset mode.

    The environment's own rewards are in `info["original_reward"]`. Call `envs.learn()` before each update of the
    solver.

    Args:
        env: a vector environment that names groups (see `check_group_env`).
        corrector: as for `BisimulatorRewardWrapper`, as are all others.
        goal: fairness goals.
        control: how the multipliers of the goal are controlled.
        accepted: which decisions accept.
        num_groups: how many groups there are.
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
        *,
        goal: AnyGoal = None,
        control: Control = None,
        accepted: Accepted | None = None,
        num_groups: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(env)
        self.corrections = make_corrections(
            (env.single_observation_space, env.single_action_space),
            partial(env_attribute, env),
            PPO_BISIMULATOR_REWARD.config,
            num_groups=num_groups,
            goal=goal,
            control=control,
            accepted=accepted,
            corrector=corrector,
            options=options,
        )
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
        said = read_vector_info(info, self.num_envs)
        if (said.group < 0).all() and not self._ended.all():  # a step that only resets decides on nobody
            raise missing_group()
        self._ended = np.logical_or(terminated, truncated)
        decisions = self.corrections.decisions(
            before, np.asarray(actions), np.asarray(rewards, np.float64), said
        )
        correction = self.corrections.correction(decisions)
        self.corrections.record(decisions)
        info = {**info, "original_reward": rewards, "_original_reward": said.group >= 0}
        return obs, np.add(rewards, correction), terminated, truncated, info
