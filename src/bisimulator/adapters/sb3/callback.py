"""The Bisimulator as a Stable-Baselines3 callback: the solver, its loss and its loop stay as they are.

On-policy solvers (PPO, A2C, TRPO): after each rollout R_phi is improved on it, the rollout's rewards are corrected with
the new phi, and the buffer estimates its advantages again. Off-policy solvers (DQN, QRDQN): the replay buffer keeps
original rewards and corrects them when a batch is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm

from bisimulator.adapters._options import facts, split_options
from bisimulator.adapters._pytrees import stacked
from bisimulator.adapters.corrector import BATCH, Corrector
from bisimulator.adapters.group_info import missing_group
from bisimulator.adapters.sb3._omega import check_can_improve, improve_omega
from bisimulator.adapters.sb3._replay_rewards import LiveRewards, attach, detach
from bisimulator.errors import check_int
from bisimulator.methods.bisimulator import DQN_BISIMULATOR, PPO_BISIMULATOR


class BisimulatorCallback(BaseCallback):
    """`model.learn(steps, callback=BisimulatorCallback())`; the environment follows `adapters.groups`.

    Args:
      num_groups: how many groups there are, where the environment does not say so.
      every: decisions for each improvement of R_phi: 512 for on-policy solvers, which improve it after a rollout, as
        often as it has so many decisions; 64 for off-policy solvers.
      dynamics_env: makes an environment in which candidates for omega are tried. Not needed with `BisimulatorVecEnv`,
        nor where the environment has no observation parameters.
      settings: fields of `methods.bisimulator.Config` (alpha, gauge, floor, dynamics_steps, ...; the defaults are those
        of `ppo-bisimulator` and of `dqn-bisimulator`), and `batch`, `score`, `reject`, `seed` of `Corrector`.
    """

    def __init__(
        self,
        *,
        num_groups: int | None = None,
        every: int | None = None,
        dynamics_env: Callable[[], gymnasium.Env[Any, Any]] | None = None,
        verbose: int = 0,
        **settings: Any,
    ):
        super().__init__(verbose)
        self.corrector: Corrector | None = None
        self.dynamics_env = dynamics_env
        self.replay_group: NDArray[np.int16] | None = None  # of the decisions in the replay buffer
        self.every = None if every is None else check_int("every", every, min=1)
        self._num_groups, self._settings = num_groups, settings
        split_options(settings, PPO_BISIMULATOR.config)  # wrong ones are told before anything starts

    def prepare(self, model: Any) -> Corrector:
        """The correction for this model and its environment; the one there is, if there is one."""
        if self.corrector is None:
            self.corrector = self._make_corrector(model)
        return self.corrector

    def _make_corrector(self, model: Any) -> Corrector:
        venv = model.get_env()
        if isinstance(model, OnPolicyAlgorithm):
            base, every, fresh = PPO_BISIMULATOR.config, BATCH, model.n_steps * model.n_envs
        elif isinstance(model, OffPolicyAlgorithm):
            base, every, fresh = DQN_BISIMULATOR.config, 64, 0
        else:
            raise ValueError(
                f"{type(model).__name__} is neither an on-policy nor an off-policy solver of Stable-Baselines3; "
                "use PPO, A2C, TRPO, DQN or QRDQN, or BisimulatorRewardWrapper around the environment"
            )
        self.every = self.every or every

        def ask(name: str, default: Any = None) -> Any:
            return venv.get_attr(name, 0)[0] if venv.has_attr(name) else default

        options: dict[str, Any] = {"batch": max(BATCH, fresh), "seed": model.seed or 0}
        options |= facts(ask, self._num_groups) | split_options(self._settings, base)
        return Corrector(venv.observation_space, venv.action_space, **options)

    def _on_training_start(self) -> None:
        corrector = self.prepare(self.model)
        total = self.locals["total_timesteps"] - self.num_timesteps
        config = corrector.config
        shares = sorted(config.dynamics_at) if config.dynamics_steps and corrector.omega.size else []
        self._improve_at = [self.num_timesteps + share * total for share in shares]
        if shares:
            check_can_improve(corrector, self.model, self.dynamics_env)
        self._unlearned = 0
        self._live: LiveRewards | None = None
        if corrector.omega.size:
            self.training_env.env_method("set_observation_params", corrector.omega)
        if isinstance(self.model, OffPolicyAlgorithm):
            self._live = attach(self.model.replay_buffer, corrector, self.replay_group)
            self.replay_group = self._live.group

    def _on_rollout_start(self) -> None:
        self._seen = self._original(self.model._last_obs)
        self._rollout: list[tuple[Any, NDArray[Any], NDArray[np.int64]]] = []

    def _on_step(self) -> bool:
        """Remember the decisions: `locals` hold the step that was just taken."""
        assert self.corrector is not None
        infos, actions = self.locals["infos"], np.array(self.locals["actions"])
        if not any("group" in info for info in infos):
            raise missing_group()
        group = np.array([info.get("group", -1) for info in infos], np.int64)
        rewards = self.locals["rewards"]
        if self._normalised is not None:
            rewards = self._normalised.get_original_reward()
        self.corrector.record(self._seen, actions, rewards, group)
        self._unlearned += int((group >= 0).sum())
        if self._live is None:
            self._rollout.append((self._seen, actions, group))
        else:
            self._live.group[self.model.replay_buffer.pos] = group  # type: ignore[attr-defined]
        self._seen = self._original(self.locals["new_obs"])
        return True

    def _on_rollout_end(self) -> None:
        assert self.corrector is not None
        assert self.every is not None
        while self._unlearned >= self.every:
            self._unlearned -= self.every
            self.corrector.learn()
        if self._live is None:
            self._correct_rollout()
        if self._improve_at and self.num_timesteps >= self._improve_at[0]:
            self._improve_at.pop(0)
            improve_omega(self.corrector, self.model, self.dynamics_env)
            self.training_env.env_method("set_observation_params", self.corrector.omega)
        for name, value in self.corrector.describe().items():
            self.logger.record(f"bisimulator/{name}", value)

    def _on_training_end(self) -> None:
        if self._live is not None:
            detach(self.model.replay_buffer)  # type: ignore[attr-defined]

    def _correct_rollout(self) -> None:
        """Correct the rewards of the rollout just collected, then let the buffer estimate advantages again."""
        assert self.corrector is not None
        buffer = self.model.rollout_buffer  # type: ignore[attr-defined]
        seen, actions, groups = zip(*self._rollout, strict=True)
        number = len(groups) * buffer.n_envs
        flat = (
            stacked(seen, np.concatenate),
            np.stack(actions).reshape(number, -1),
            np.stack(groups).reshape(-1),
        )
        extra = self.corrector.correction(*flat).reshape(buffer.rewards.shape)
        if self._normalised is not None and self._normalised.norm_reward:
            extra = extra / np.sqrt(self._normalised.ret_rms.var + self._normalised.epsilon)
        buffer.rewards += extra
        buffer.compute_returns_and_advantage(last_values=self.locals["values"], dones=self.locals["dones"])

    @property
    def _normalised(self) -> Any:
        return self.model.get_vec_normalize_env()

    def _original(self, observations: Any) -> Any:
        """What the environment showed, before a VecNormalize."""
        return observations if self._normalised is None else self._normalised.get_original_obs()
