"""The Bisimulator as a Stable-Baselines3 callback: the solver, its loss and its loop stay as they are.

On-policy solvers (PPO, A2C, TRPO): after each rollout R_phi learns from it, the rollout's rewards are corrected with
the new phi, and the buffer computes its advantages again. Off-policy solvers (DQN, QRDQN): the replay buffer stores
original rewards and corrects them when a batch is sampled.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from jaxtyping import PyTree
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecNormalize

from bisimulator.adapters._pytrees import concatenate
from bisimulator.adapters.corrector import BATCH, Corrector, corrector_options
from bisimulator.adapters.group_info import missing_group
from bisimulator.adapters.sb3._omega_search import MakeEnv, check_can_improve, improve_omega
from bisimulator.adapters.sb3._replay_rewards import CorrectedRewards, attach, detach
from bisimulator.errors import check_int
from bisimulator.methods.bisimulator import DQN_BISIMULATOR, PPO_BISIMULATOR

Observations: TypeAlias = PyTree[np.ndarray]


class BisimulatorCallback(BaseCallback):
    """Trains a Stable-Baselines3 model on corrected rewards, in an environment that names groups.

    Args:
        num_groups: how many groups there are, if the environment does not say so.
        every: R_phi is improved once per this many decisions. By default 512 for on-policy solvers, which improve it
            after a rollout as often as the rollout has that many, and 64 for off-policy solvers.
        dynamics_env: makes an environment in which candidates for omega are tried. Not needed with
            `BisimulatorVecEnv`, nor if the environment has no observation parameters.
        verbose: as in Stable-Baselines3.
        **options: `batch`, `score`, `reject`, `seed` of `Corrector`, and fields of `methods.bisimulator.Config`
            (`alpha`, `gauge`, `floor`, `dynamics_steps`, ...). The defaults are those of `ppo-bisimulator` for
            on-policy and of `dqn-bisimulator` for off-policy solvers.

    Raises:
        ValueError: if a value is wrong.
        TypeError: if there is no such option.

    Example:
        >>> venv = BisimulatorVecEnv("lending", num_envs=8)
        >>> callback = BisimulatorCallback(alpha=2.0, dynamics_steps=0)
        >>> model = PPO("MlpPolicy", venv).learn(400_000, callback=callback)
    """

    def __init__(
        self,
        *,
        num_groups: int | None = None,
        every: int | None = None,
        dynamics_env: MakeEnv | None = None,
        verbose: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(verbose)
        self.corrector: Corrector | None = None
        self.dynamics_env = dynamics_env
        self.replay_group: NDArray[np.int16] | None = None  # of the decisions in the replay buffer
        self.every = None if every is None else check_int("every", every, min=1)
        self._num_groups, self._options = num_groups, options
        self._improve_at: list[float] = []  # numbers of steps
        self._unlearned = 0  # decisions since R_phi was improved
        self._replay: CorrectedRewards | None = None
        self._obs: Observations = None
        self._rollout: list[tuple[Observations, NDArray[np.generic], NDArray[np.int64]]] = []
        corrector_options(options, PPO_BISIMULATOR.config)  # raise now, not when training starts

    def prepare(self, model: BaseAlgorithm) -> Corrector:
        """Make the correction for this model and its environment, unless there is one."""
        if self.corrector is None:
            self.corrector = self._make_corrector(model)
        return self.corrector

    def __repr__(self) -> str:
        options = {"num_groups": self._num_groups, "every": self.every, **self._options}
        shown = ", ".join(f"{name}={value!r}" for name, value in options.items() if value is not None)
        return f"{type(self).__name__}({shown})"

    def _make_corrector(self, model: BaseAlgorithm) -> Corrector:
        if isinstance(model, OnPolicyAlgorithm):
            base, every, rollout = PPO_BISIMULATOR.config, BATCH, model.n_steps * model.n_envs
        elif isinstance(model, OffPolicyAlgorithm):
            base, every, rollout = DQN_BISIMULATOR.config, 64, 0
        else:
            raise ValueError(
                f"model must be an on-policy or off-policy solver of Stable-Baselines3, got {type(model).__name__}; "
                "use PPO, A2C, TRPO, DQN or QRDQN, or BisimulatorRewardWrapper around the environment"
            )
        venv = model.get_env()
        if venv is None:
            raise ValueError("the model has no environment; call model.set_env(venv) first")
        self.every = self.every or every

        def attribute(name: str) -> object:
            return venv.get_attr(name, 0)[0] if venv.has_attr(name) else None

        options = {"batch": max(BATCH, rollout), "seed": model.seed or 0}
        options |= corrector_options(self._options, base)
        return Corrector.from_attributes(
            venv.observation_space, venv.action_space, attribute, self._num_groups, options
        )

    def _on_training_start(self) -> None:
        corrector = self.prepare(self.model)
        total = self.locals["total_timesteps"] - self.num_timesteps
        config = corrector.config
        shares = sorted(config.dynamics_at) if config.dynamics_steps and corrector.omega.size else []
        self._improve_at = [self.num_timesteps + share * total for share in shares]
        if shares:
            check_can_improve(corrector, self.model, self.dynamics_env)
        self._unlearned = 0
        self._replay = None
        if corrector.omega.size:
            self.training_env.env_method("set_observation_params", corrector.omega)
        if isinstance(self.model, OffPolicyAlgorithm):
            self._replay = attach(self.model.replay_buffer, corrector, self.replay_group)
            self.replay_group = self._replay.group

    def _on_rollout_start(self) -> None:
        self._obs = self._original(self.model._last_obs)
        self._rollout = []

    def _on_step(self) -> bool:
        """Record the decisions: `locals` hold the step that was just taken."""
        assert self.corrector is not None
        infos, actions = self.locals["infos"], np.array(self.locals["actions"])
        if not any("group" in info for info in infos):
            raise missing_group()
        group = np.array([info.get("group", -1) for info in infos], np.int64)
        rewards = self.locals["rewards"]
        if self._vec_normalize is not None:
            rewards = self._vec_normalize.get_original_reward()
        self.corrector.record(self._obs, actions, rewards, group)
        self._unlearned += int((group >= 0).sum())
        if self._replay is None:
            self._rollout.append((self._obs, actions, group))
        else:
            self._replay.record_group(group)
        self._obs = self._original(self.locals["new_obs"])
        return True

    def _on_rollout_end(self) -> None:
        assert self.corrector is not None
        assert self.every is not None
        while self._unlearned >= self.every:
            self._unlearned -= self.every
            self.corrector.learn()
        if isinstance(self.model, OnPolicyAlgorithm):
            self._correct_rollout(self.model, self.corrector)
        if self._improve_at and self.num_timesteps >= self._improve_at[0]:
            self._improve_at.pop(0)
            improve_omega(self.corrector, self.model, self.dynamics_env)
            self.training_env.env_method("set_observation_params", self.corrector.omega)
        for name, value in self.corrector.describe().items():
            self.logger.record(f"bisimulator/{name}", value)

    def _on_training_end(self) -> None:
        if self._replay is not None:
            detach(self._replay.buffer)

    def _correct_rollout(self, model: OnPolicyAlgorithm, corrector: Corrector) -> None:
        """Correct the rewards of the rollout just collected, then compute its advantages again."""
        buffer = model.rollout_buffer
        observations, actions, groups = zip(*self._rollout, strict=True)
        number = len(groups) * buffer.n_envs
        correction: NDArray[np.floating[Any]] = corrector.correction(
            concatenate(observations), np.stack(actions).reshape(number, -1), np.stack(groups).reshape(-1)
        ).reshape(buffer.rewards.shape)
        if self._vec_normalize is not None and self._vec_normalize.norm_reward:
            correction = correction / np.sqrt(self._vec_normalize.ret_rms.var + self._vec_normalize.epsilon)
        buffer.rewards += correction
        buffer.compute_returns_and_advantage(last_values=self.locals["values"], dones=self.locals["dones"])

    @property
    def _vec_normalize(self) -> VecNormalize | None:
        return self.model.get_vec_normalize_env()

    def _original(self, observations: Observations) -> Observations:
        """The observations of the environment, before a VecNormalize."""
        return observations if self._vec_normalize is None else self._vec_normalize.get_original_obs()
