"""The Bisimulator and goals as a Stable-Baselines3 callback: the solver, its loss and its loop stay as they are.

On-policy solvers (PPO, A2C, TRPO): after each rollout the corrections learn from it, the rollout's rewards are
corrected, and the buffer computes its advantages again. Off-policy solvers (DQN, QRDQN): the replay buffer stores
original rewards and corrects them when a batch is sampled.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces
from jaxtyping import PyTree
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.on_policy_algorithm import OnPolicyAlgorithm
from stable_baselines3.common.vec_env import VecNormalize

from bisimulator.adapters._corrections import AnyGoal, Control, Corrections, check_request, make_corrections
from bisimulator.adapters._decisions import Accepted, Decisions, join, read_infos
from bisimulator.adapters.corrector import BATCH, Corrector
from bisimulator.adapters.goal_corrector import GoalCorrector
from bisimulator.adapters.sb3._omega_search import MakeEnv, check_can_improve, improve_omega
from bisimulator.adapters.sb3._replay_rewards import CorrectedRewards, ReplayOutcomes, attach, detach
from bisimulator.errors import check_int
from bisimulator.methods.bisimulator import DQN_BISIMULATOR, PPO_BISIMULATOR

Observations: TypeAlias = PyTree[np.ndarray]


class BisimulatorCallback(BaseCallback):
    """Trains a Stable-Baselines3 model on corrected rewards, in an environment that names groups.

    Args:
        goal: a fairness goal, such as "approval-gap=0.05". With a goal and no `options`, the goal's correction is the
            only one; with both, rewards get both corrections.
        control: how the goal's multipliers are controlled: options of `GoalConfig`, such as `{"eta": 0.1}`.
        accepted: which decisions accept, a function from a batch of actions to flags, or to one column of flags per
            kind of acceptance. By default `info["accepted"]`, or every action but the first.
        num_groups: how many groups there are, if the environment does not say so.
        every: R_phi is improved once per this many decisions. By default 512 for on-policy solvers, which improve it
            after a rollout as often as the rollout has that many, and 64 for off-policy solvers.
        dynamics_env: makes an environment in which candidates for omega are tried. Not needed with
            `BisimulatorVecEnv`, nor if the environment has no observation parameters.
        verbose: as in Stable-Baselines3.
        **options: `batch`, `score`, `reject`, `seed` of `Corrector`, and fields of `methods.bisimulator.Config`
            (`alpha`, `gauge`, `dynamics_steps`, ...). The defaults are those of `ppo-bisimulator` for on-policy and of
            `dqn-bisimulator` for off-policy solvers.

    Raises:
        ValueError: if a value is wrong.
        TypeError: if there is no such option.

    Example:
        >>> venv = BisimulatorVecEnv("lending", num_envs=8, view="life")
        >>> callback = BisimulatorCallback(goal="min-recall=0.9")
        >>> model = PPO("MlpPolicy", venv, gamma=1.0).learn(400_000, callback=callback)
    """

    def __init__(
        self,
        *,
        goal: AnyGoal = None,
        control: Control = None,
        accepted: Accepted | None = None,
        num_groups: int | None = None,
        every: int | None = None,
        dynamics_env: MakeEnv | None = None,
        verbose: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(verbose)
        self.dynamics_env = dynamics_env
        self.every = None if every is None else check_int("every", every, min=1)
        self.replay_outcomes: ReplayOutcomes | None = None  # of the decisions in the replay buffer
        self._goal, self._control, self._accepted = goal, control, accepted
        self._num_groups, self._options = num_groups, options
        self._corrections: Corrections | None = None
        self._improve_at: list[float] = []  # numbers of steps
        self._unlearned = 0  # decisions since R_phi was improved
        self._replay: CorrectedRewards | None = None
        self._obs: Observations = None
        self._rollout: list[Decisions] = []
        check_request(goal, control, options)  # raise now, not when training starts

    @property
    def corrector(self) -> Corrector | None:
        """The learned correction; None before training, or with a goal alone."""
        return None if self._corrections is None else self._corrections.corrector

    @property
    def goal_corrector(self) -> GoalCorrector | None:
        """The goal's correction, which also measures the groups' rates without a goal; None before training."""
        return None if self._corrections is None else self._corrections.goal

    def prepare(self, model: BaseAlgorithm) -> Corrections:
        """Make the corrections for this model and its environment, unless they are there."""
        if self._corrections is None:
            self._corrections = self._make_corrections(model)
        return self._corrections

    def __repr__(self) -> str:
        own = {"goal": self._goal, "num_groups": self._num_groups, "every": self.every}
        shown = ", ".join(
            f"{name}={value!r}" for name, value in (own | self._options).items() if value is not None
        )
        return f"{type(self).__name__}({shown})"

    def _make_corrections(self, model: BaseAlgorithm) -> Corrections:
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

        corrections = make_corrections(
            (venv.observation_space, venv.action_space),
            attribute,
            base,
            num_groups=self._num_groups,
            goal=self._goal,
            control=self._control,
            accepted=self._accepted,
            defaults={"batch": max(BATCH, rollout), "seed": model.seed or 0},
            options=self._options,
        )
        if corrections.goal is None:  # it only measures, for the logs
            corrections.goal = GoalCorrector.from_attributes(attribute, None, self._num_groups, None)
        return corrections

    def _on_training_start(self) -> None:
        corrections = self.prepare(self.model)
        self._unlearned = 0
        self._replay = None
        if corrections.corrector is not None:
            self._schedule_omega(corrections.corrector)
        if isinstance(self.model, OffPolicyAlgorithm):
            self._replay = attach(self.model.replay_buffer, corrections, self.replay_outcomes)
            self.replay_outcomes = self._replay.outcomes

    def _schedule_omega(self, corrector: Corrector) -> None:
        total, config = self.locals["total_timesteps"] - self.num_timesteps, corrector.config
        shares = sorted(config.dynamics_at) if config.dynamics_steps and corrector.omega.size else []
        self._improve_at = [self.num_timesteps + share * total for share in shares]
        if shares:
            check_can_improve(corrector, self.model, self.dynamics_env)
        if corrector.omega.size:
            self.training_env.env_method("set_observation_params", corrector.omega)

    def _on_rollout_start(self) -> None:
        self._obs = self._original(self.model._last_obs)
        self._rollout = []

    def _on_step(self) -> bool:
        """Record the decisions: `locals` hold the step that was just taken."""
        assert self._corrections is not None
        actions, rewards = np.array(self.locals["actions"]), self.locals["rewards"]
        if self._vec_normalize is not None:
            rewards = self._vec_normalize.get_original_reward()
        said = read_infos(self.locals["infos"])
        decisions = self._corrections.decisions(self._obs, actions, np.array(rewards), said)
        self._corrections.record(decisions, self._measured(actions))
        self._unlearned += int((said.group >= 0).sum())
        if self._replay is None:
            self._rollout.append(decisions)
        else:
            self._replay.record(decisions)
        self._obs = self._original(self.locals["new_obs"])
        return True

    def _measured(self, actions: NDArray[np.generic]) -> NDArray[np.bool_] | None:
        """Which decisions are those of the policy: exploration would distort the rates that a goal measures.

        Whether an off-policy solver explores does not depend on the person, so the decisions that agree with the
        greedy ones are a fair sample of these.
        """
        model = self.model
        if not isinstance(model, OffPolicyAlgorithm):
            return None
        if self.num_timesteps <= model.learning_starts:
            return np.zeros(len(actions), np.bool_)
        if not isinstance(model.action_space, spaces.Discrete):
            return None
        assert model._last_obs is not None
        greedy, _ = model.predict(model._last_obs, deterministic=True)
        return np.asarray(greedy == actions)

    def _on_rollout_end(self) -> None:
        assert self._corrections is not None
        assert self._corrections.goal is not None
        assert self.every is not None
        corrector = self._corrections.corrector
        due, self._unlearned = divmod(self._unlearned, self.every)
        if corrector is not None:
            for _ in range(due):
                corrector.learn()
        if isinstance(self.model, OnPolicyAlgorithm):
            self._corrections.goal.learn()
            self._correct_rollout(self.model, self._corrections)
        elif due:
            self._corrections.goal.learn()
        if corrector is not None and self._improve_at and self.num_timesteps >= self._improve_at[0]:
            self._improve_at.pop(0)
            improve_omega(corrector, self.model, self.dynamics_env)
            self.training_env.env_method("set_observation_params", corrector.omega)
        if due:
            for name, value in self._corrections.describe().items():
                self.logger.record(f"bisimulator/{name}", value)

    def _on_training_end(self) -> None:
        if self._replay is not None:
            detach(self._replay.buffer)

    def _correct_rollout(self, model: OnPolicyAlgorithm, corrections: Corrections) -> None:
        """Correct the rewards of the rollout just collected, then compute its advantages again."""
        buffer = model.rollout_buffer
        correction: NDArray[np.floating[Any]] = corrections.correction(join(self._rollout))
        correction = correction.reshape(buffer.rewards.shape)
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
