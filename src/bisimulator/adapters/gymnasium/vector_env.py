"""A batch of environments as a `gymnasium.vector.VectorEnv`: one compiled program steps all of them.

Environment i with seed s is, bit for bit, the single environment with seed s + i.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from bisimulator import core
from bisimulator.adapters.group_info import Info
from bisimulator.adapters.gymnasium._batched_env import BatchedEnv, StepResult, episode_key
from bisimulator.adapters.gymnasium._info import step_info, with_masks, zero_absent
from bisimulator.adapters.gymnasium._observation_params import ObservationParamsMixin
from bisimulator.adapters.gymnasium.env import (
    Observation,
    action_space,
    as_actions,
    check_seed,
    observation_space,
    valid_actions,
)
from bisimulator.adapters.gymnasium.rendering import (
    RENDER_FPS,
    EpisodeRenderer,
    check_can_render,
    check_render_mode,
)
from bisimulator.errors import check_int

Flags: TypeAlias = NDArray[np.bool_]
Generator: TypeAlias = tuple[np.random.Generator, int]  # with its seed


class BisimulatorVectorEnv(
    ObservationParamsMixin, VectorEnv[Observation, NDArray[np.generic], NDArray[np.generic]]
):
    """A batch of the library's environments for Gymnasium, stepped by one compiled program.

    `info` is the single environment's, with one array per key and Gymnasium's `_key` masks.

    Args:
        scenario: a name of `bisimulator list`, such as "lending".
        num_envs: how many environments there are.
        autoreset_mode: when an environment whose episode has ended starts the next one. "NextStep": in the next step,
            which ignores its action. "SameStep": at once; the end of the episode is in `final_obs` and `final_info`.
            "Disabled": when you call `reset(options={"reset_mask": ended})`.
        render_mode: "rgb_array".
        **params: parameters of the scenario, as for `bisimulator.make`.

    Raises:
        ValueError: if an argument has a wrong value.
        TypeError: if the scenario has no such parameter.

    Example:
        >>> envs = BisimulatorVectorEnv("lending", num_envs=256, autoreset_mode="SameStep")
        >>> obs, info = envs.reset(seed=0)
        >>> obs, rewards, terminated, truncated, info = envs.step(np.ones(256, int))
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": RENDER_FPS,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        scenario: str = "lending",
        num_envs: int = 1,
        *,
        view: core.View = "queue",
        group_blind: bool = False,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **params: Any,
    ) -> None:
        self.num_envs = check_int("num_envs", num_envs, min=1)
        self.autoreset_mode = check_autoreset_mode(autoreset_mode)
        check_render_mode(render_mode, self.metadata["render_modes"])
        self.env = core.make(scenario, **params).in_view(view)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self.single_observation_space = observation_space(self.env)
        self.single_action_space = action_space(self.env)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._batch = BatchedEnv(self.env, num_envs, group_blind=group_blind)
        self._generators: list[Generator | None] = [None] * num_envs
        self._renderer: EpisodeRenderer | None = None
        self._obs: Observation | None = None
        self._started = np.zeros(num_envs, np.bool_)
        self._ended = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, Info]:
        """Draw new populations and start episodes.

        Args:
            seed: an int seeds environment i with seed + i; a list has one seed (or None) per environment; without one,
                each environment's generator continues.
            options: `{"reset_mask": flags}` resets only the flagged environments. Other options are ignored.

        Returns:
            The observations of all environments and an empty `info`.
        """
        indices = np.flatnonzero(self._check_mask((options or {}).get("reset_mask")))
        seeds = self._check_seeds(seed)
        for i in indices:
            if seeds[i] is not None or self._generators[i] is None:
                self._generators[i] = seeding.np_random(seeds[i])
        self._started[indices] = True
        return self._start_episodes(indices).copy(), {}

    def step(self, actions: ArrayLike) -> tuple[Observation, NDArray[np.float64], Flags, Flags, Info]:
        """Decide on the current applicant of every environment.

        Args:
            actions: one action per environment.

        Returns:
            The next applicants' observations, rewards, `terminated`, `truncated` and `info`.
        """
        skip = self._ended if self.autoreset_mode is AutoresetMode.NEXT_STEP else np.zeros_like(self._ended)
        result = self._batch.step(self._check_step(actions, skip))
        if skip.any():
            result = self._reset_instead(result, skip)
        ended = result.terminated | result.truncated
        self._obs, self._ended = result.obs, ended
        if self.autoreset_mode is AutoresetMode.SAME_STEP and ended.any():
            info = self._reset_in_same_step(result, ended)
        else:
            info = self._info(result, ~skip, ended)
        return self._obs.copy(), result.reward, result.terminated, result.truncated, info

    def render(self) -> tuple[NDArray[np.uint8], ...]:
        """The current frames, one per environment."""
        check_can_render(self.render_mode, was_reset=self._obs is not None)
        assert self._obs is not None
        if self._renderer is None:
            self._renderer = EpisodeRenderer(self.env)
        frames = [self._renderer.draw(self._batch, i, obs) for i, obs in enumerate(self._obs)]
        return tuple(frame for frame in frames if frame is not None)

    def close_extras(self, **kwargs: object) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __repr__(self) -> str:
        mode = self.autoreset_mode.value
        return f"{type(self).__name__}({self.env}, num_envs={self.num_envs}, autoreset_mode={mode!r})"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(repr(self))}</pre>"

    def _start_episodes(self, indices: NDArray[np.intp]) -> Observation:
        """Start the next episode of these environments, each from its own generator; returns all observations."""
        keys = np.stack([episode_key(made[0]) for i in indices if (made := self._generators[i]) is not None])
        self._obs = self._batch.reset(indices, keys)
        self._ended = self._ended.copy()
        self._ended[indices] = False
        return self._obs

    def _reset_instead(self, result: StepResult, skip: Flags) -> StepResult:
        """What a NextStep environment returns where the last episode had ended: the new one's observation."""
        return result._replace(
            obs=self._start_episodes(np.flatnonzero(skip)),
            reward=np.where(skip, 0.0, result.reward),
            terminated=result.terminated & ~skip,
            truncated=result.truncated & ~skip,
        )

    def _reset_in_same_step(self, result: StepResult, ended: Flags) -> Info:
        """Reset the ended environments at once; the end of their episodes goes to `final_obs` and `final_info`."""
        final_obs = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            final_obs[i] = result.obs[i]
        final_info = self._info(result, ended, ended)
        self._start_episodes(np.flatnonzero(ended))
        info = self._info(result, ~ended, np.zeros_like(ended))
        return info | with_masks({"final_obs": final_obs, "final_info": final_info}, ended)

    def _info(self, result: StepResult, present: Flags, ended: Flags) -> Info:
        values = step_info(result)
        if not present.all():
            values = {name: zero_absent(value, present) for name, value in values.items()}
        info = with_masks(values, present)
        if ended.any():
            outcome = self._batch.outcome(np.flatnonzero(ended))
            info |= with_masks({"outcome": with_masks(outcome, ended)}, ended)
        return info

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Each environment's own generator, from which the keys of its episodes are drawn."""
        return tuple(generator for generator, _ in self._seeded_generators())

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(seed for _, seed in self._seeded_generators())

    def _seeded_generators(self) -> list[Generator]:
        seeded = [generator or seeding.np_random() for generator in self._generators]
        self._generators = list(seeded)
        return seeded

    def _check_step(self, actions: ArrayLike, skip: Flags) -> NDArray[np.generic]:
        if not self._started.all():
            raise gymnasium.error.ResetNeeded("step() was called before reset(); call reset() first")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            raise gymnasium.error.ResetNeeded(
                f"the episodes of environments {_first_few(self._ended)} are over and autoreset_mode is 'Disabled'; "
                'call reset(options={"reset_mask": terminated | truncated}) first'
            )
        array = np.asarray(actions)
        expected = (self.num_envs, *self.env.action_space.shape)
        if array.shape != expected:
            raise ValueError(
                f"actions must have shape {expected}, got {array.shape}; pass one action per environment"
            )
        wrong = ~valid_actions(array, self.env) & ~skip
        if wrong.any():
            raise ValueError(
                f"actions must be {self.env.action_space}, got {array[wrong][0]!r} "
                f"for environments {_first_few(wrong)}; pass {'integers' if array.ndim == 1 else 'such numbers'}"
            )
        return as_actions(array, self.env)

    def _check_seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None or isinstance(seed, int | np.integer):
            check_seed(seed)
            return [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(
                f"seed must be one int or one per environment ({self.num_envs}), got {len(seeds)}; "
                "pass seed=0, for example"
            )
        for one in seeds:
            check_seed(one)
        return [None if one is None else int(one) for one in seeds]

    def _check_mask(self, mask: ArrayLike | None) -> Flags:
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        array = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_ or not array.any():
            raise ValueError(
                f"reset_mask must be {self.num_envs} booleans of which at least one is True, got {mask!r}; "
                "pass terminated | truncated"
            )
        return array


def check_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        known = ", ".join(repr(m.value) for m in AutoresetMode)
        raise ValueError(
            f"autoreset_mode must be one of {known}, got {mode!r}; pass 'SameStep', for example"
        ) from None


def _first_few(flags: Flags) -> str:
    """The first few flagged environments, for a message."""
    indices = np.flatnonzero(flags)
    return ", ".join(map(str, indices[:5])) + (", ..." if indices.size > 5 else "")
