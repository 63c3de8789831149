"""An environment as a `gymnasium.Env`: one decision on one applicant at a time."""

from __future__ import annotations

import html
import math
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from bisimulator import core
from bisimulator.adapters.group_info import Info
from bisimulator.adapters.gymnasium._batched_env import BatchedEnv, episode_key
from bisimulator.adapters.gymnasium._info import info_of_one, step_info
from bisimulator.adapters.gymnasium._observation_params import ObservationParamsMixin
from bisimulator.adapters.gymnasium.rendering import (
    RENDER_FPS,
    RENDER_MODES,
    EpisodeRenderer,
    available_render_modes,
    check_can_render,
    check_render_mode,
)
from bisimulator.errors import MAX_SEED, check_int

Observation: TypeAlias = NDArray[np.float32]


def observation_space(env: core.Env) -> spaces.Box[np.float32]:
    """Every entry is a share or a flag: the score, the group one-hot, and what else the scenario shows."""
    return spaces.Box(0.0, 1.0, (env.observation_size,), np.float32)


def check_seed(seed: object) -> None:
    if seed is not None:
        check_int("seed", seed, min=0, max=MAX_SEED)


def action_space(env: core.Env) -> spaces.Discrete | spaces.MultiDiscrete | spaces.Box[np.float32]:
    """The environment's actions as a space of Gymnasium."""
    space = env.action_space
    if isinstance(space, core.Discrete):
        return spaces.Discrete(space.n)
    if isinstance(space, core.MultiDiscrete):
        return spaces.MultiDiscrete(list(space.nvec))
    return spaces.Box(space.low, space.high, space.shape, np.float32)


def valid_actions(actions: NDArray[np.generic], env: core.Env) -> NDArray[np.bool_]:
    """Which of several actions, one row each, the environment has."""
    if actions.dtype.kind not in env.action_space.kinds:
        return np.zeros(len(actions), np.bool_)
    return env.action_space.contains(actions.astype(np.float64).reshape(len(actions), -1))


def as_actions(actions: NDArray[np.generic], env: core.Env) -> NDArray[np.generic]:
    """Valid actions in the type that the environment computes with."""
    return actions.astype(env.action_space.dtype)


class BisimulatorEnv(ObservationParamsMixin, gymnasium.Env[Observation, Any]):
    """One of the library's environments for Gymnasium; most have the actions 0 (reject) and 1 (accept).

    `info` of a step is about the person who was decided on: `group`, `qualified` (would repay or succeed, also when
    rejected), `accepted` (whether the action accepts), `cost` (paid so far) and `next_self_observation` (the same
    person after the decision). The last step adds `outcome`, from which `ended_outcome` and `metric_columns` compute
    every metric. Where a step decides on all groups at once, `info` has what each of them needed and received:
    `supply`, `demand`, `reward`, and what else the scenario adds up.

    Args:
        scenario: a name of `bisimulator list`, such as "lending".
        view: "queue", or "life": an episode is one person's life, so that solvers see what becomes of a person.
        group_blind: the entries of observations that encode the group are 0; `info` still has the group.
        render_mode: "rgb_array" or "human".
        **params: parameters of the scenario, as for `bisimulator.make`.

    Raises:
        ValueError: if the scenario or the render mode is unknown, or a parameter has a wrong value.
        TypeError: if the scenario has no such parameter.

    Example:
        >>> env = BisimulatorEnv("lending", population=500, horizon=2_000)
        >>> obs, info = env.reset(seed=0)
        >>> obs, reward, terminated, truncated, info = env.step(1)
        >>> info["group"], info["accepted"]
        (0, True)
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012

    def __init__(
        self,
        scenario: str = "lending",
        *,
        view: core.View = "queue",
        group_blind: bool = False,
        render_mode: str | None = None,
        **params: Any,
    ) -> None:
        check_render_mode(render_mode, RENDER_MODES)
        self.env = core.make(scenario, **params).in_view(view)
        self.metadata = {**self.metadata, "render_modes": available_render_modes()}
        self.render_mode = render_mode
        self.observation_space = observation_space(self.env)
        self.action_space = action_space(self.env)
        self._batch = BatchedEnv(self.env, 1, group_blind=group_blind)
        self._renderer: EpisodeRenderer | None = None
        self._obs: Observation | None = None  # of the current applicant
        self._ended = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Draw a new population and start an episode.

        Args:
            seed: the same seed gives the same episode; without one, the generator continues.
            options: ignored.

        Returns:
            The first observation and an empty `info`.
        """
        check_seed(seed)
        super().reset(seed=seed)
        self._obs = self._batch.reset([0], episode_key(self.np_random)[None])[0]
        self._ended = False
        self._render_human()
        return self._obs.copy(), {}

    def step(self, action: ArrayLike) -> tuple[Observation, float, bool, bool, Info]:
        """Decide on the current applicant.

        Args:
            action: one of `action_space`, by default 0 (reject) or 1 (accept).

        Returns:
            The next applicant's observation, the reward, `terminated`, `truncated` and `info`.
        """
        self._check_running()
        result = self._batch.step(self._check_action(action))
        self._obs = result.obs[0]
        terminated, truncated = bool(result.terminated[0]), bool(result.truncated[0])
        self._ended = terminated or truncated
        info = info_of_one(step_info(result), 0)
        if self._ended:
            info["outcome"] = {name: value[0] for name, value in self._batch.outcome([0]).items()}
        self._render_human()
        return self._obs.copy(), float(result.reward[0]), terminated, truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """The current frame (`rgb_array`), or None after showing it in a window (`human`)."""
        check_can_render(self.render_mode, was_reset=self._obs is not None)
        assert self._obs is not None
        if self._renderer is None:
            self._renderer = EpisodeRenderer(self.env, window=self.render_mode == "human")
        return self._renderer.draw(self._batch, 0, self._obs)

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.env})"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def _render_human(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _check_running(self) -> None:
        if self._obs is None:
            raise gymnasium.error.ResetNeeded("step() was called before reset(); call reset() first")
        if self._ended:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset() to start the next one")

    def _check_action(self, action: ArrayLike) -> NDArray[np.generic]:
        array, shape = np.asarray(action), self.env.action_space.shape
        fits = array.size == math.prod(shape)
        if not fits or not valid_actions(array.reshape(1, *shape), self.env).all():
            example = "0" if shape == () else f"np.zeros({shape})"
            raise ValueError(
                f"action must be {self.env.action_space}, got {action!r}; pass {example}, for example"
            )
        return as_actions(array.reshape(1, *shape), self.env)
