"""An environment as a `gymnasium.Env`: one decision on one applicant at a time."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from bisimulator import core
from bisimulator.adapters.gymnasium._observation_params import ObservationParams
from bisimulator.adapters.gymnasium._simulation import Simulation, episode_key
from bisimulator.adapters.gymnasium.rendering import (
    RENDER_FPS,
    RENDER_MODES,
    Picture,
    check_render_mode,
    shown_modes,
)
from bisimulator.errors import check_int

Observation = NDArray[np.float32]


def observation_space(env: core.Env) -> spaces.Box[np.float32]:
    """Every entry is a share or a flag: the score, the group one-hot, what else the scenario shows."""
    return spaces.Box(0.0, 1.0, (env.observation_size,), np.float32)


def check_seed(seed: Any) -> None:
    if seed is not None:
        check_int("seed", seed, min=0)


def valid_actions(actions: NDArray[Any], env: core.Env) -> NDArray[np.bool_]:
    if actions.dtype.kind not in "iu":
        return np.zeros(actions.shape, np.bool_)
    return (actions >= 0) & (actions < env.num_actions)


def describe_actions(env: core.Env) -> str:
    return " or ".join(f"{i} ({name})" for i, name in enumerate(env.scenario.action_names))


class BisimulatorEnv(ObservationParams, gymnasium.Env[Observation, np.int64]):
    """`scenario` and `params` as for `bisimulator.make`, actions 0 (reject) and 1 (accept).

    `info` of a step speaks of the person decided on: `group`, `qualified` (would repay / succeed, also when
    rejected), `cost` (paid so far), `next_self_observation` (the same person after the decision). The last
    step adds `outcome`: the fields of `core.Outcome`, from which every metric is computed.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012

    def __init__(self, scenario: str = "lending", *, render_mode: str | None = None, **params: Any):
        check_render_mode(render_mode, RENDER_MODES)
        self.env = core.make(scenario, **params)
        self.metadata = {**self.metadata, "render_modes": shown_modes()}
        self.render_mode = render_mode
        self.observation_space = observation_space(self.env)
        self.action_space = spaces.Discrete(self.env.num_actions)
        self._simulation = Simulation(self.env, 1)
        self._picture: Picture | None = None
        self._obs: Observation | None = None  # of the applicant who waits for a decision
        self._over = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """A new population. With a seed the same one every time, without it the next of the stream."""
        check_seed(seed)
        super().reset(seed=seed)
        self._obs = self._simulation.reset([0], episode_key(self.np_random)[None])[0]
        self._over = False
        self._show()
        return self._obs.copy(), {}

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        self._check_running()
        decided = self._simulation.step(self._check_action(action))
        self._obs = decided.obs[0]
        terminated, truncated = bool(decided.terminated[0]), bool(decided.truncated[0])
        self._over = terminated or truncated
        info: dict[str, Any] = {
            "group": int(decided.group[0]),
            "qualified": bool(decided.qualified[0]),
            "cost": float(decided.cost[0]),
            "next_self_observation": decided.next_self_obs[0],
        }
        if self._over:
            info["outcome"] = {name: value[0] for name, value in self._simulation.outcome([0]).items()}
        self._show()
        return self._obs.copy(), float(decided.reward[0]), terminated, truncated, info

    def render(self) -> NDArray[np.uint8] | None:
        """The picture of this moment (`rgb_array`), or None after showing it (`human`)."""
        if self.render_mode is None:
            raise gymnasium.error.UnsupportedMode(
                'there is nothing to render without a render_mode; make the environment with render_mode="rgb_array"'
            )
        if self._obs is None:
            raise gymnasium.error.ResetNeeded("render() came before reset(); call reset() first")
        if self._picture is None:
            self._picture = Picture(self.env, window=self.render_mode == "human")
        return self._picture.draw(self._simulation, 0, self._obs)

    def close(self) -> None:
        if self._picture is not None:
            self._picture.close()
            self._picture = None

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def _check_running(self) -> None:
        if self._obs is None:
            raise gymnasium.error.ResetNeeded("step() came before reset(); call reset() first")
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset() to begin the next one")

    def _check_action(self, action: Any) -> NDArray[np.int32]:
        array = np.asarray(action)
        if array.size != 1 or not valid_actions(array, self.env).all():
            raise ValueError(f"action must be {describe_actions(self.env)}, got {action!r}; pass one of them")
        return array.reshape(1).astype(np.int32)
