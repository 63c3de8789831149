"""Many copies of an environment as a `gymnasium.vector.VectorEnv`: one compiled program for all of them.

Copy i with seed s is, bit for bit, the single environment with seed s + i.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from bisimulator import core
from bisimulator.adapters.gymnasium._observation_params import ObservationParams
from bisimulator.adapters.gymnasium._simulation import Decided, Simulation, episode_key
from bisimulator.adapters.gymnasium.env import check_seed, describe_actions, observation_space, valid_actions
from bisimulator.adapters.gymnasium.rendering import RENDER_FPS, Picture, check_render_mode
from bisimulator.errors import check_int

Flags = NDArray[np.bool_]
Info = dict[str, Any]


class BisimulatorVectorEnv(
    ObservationParams, VectorEnv[NDArray[np.float32], NDArray[np.int64], NDArray[Any]]
):
    """`num_envs` copies; `scenario` and `params` as for `bisimulator.make`.

    `autoreset_mode` says when a copy whose episode has ended begins the next one: `NextStep` (in the step after,
    whose action is ignored), `SameStep` (at once; the end is in `final_obs` and `final_info`) or `Disabled`
    (you call `reset(options={"reset_mask": ended})`). `info` is the single environment's, one array a key, with
    Gymnasium's `_key` masks.
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
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **params: Any,
    ):
        self.num_envs = check_int("num_envs", num_envs, min=1)
        self.autoreset_mode = check_autoreset_mode(autoreset_mode)
        check_render_mode(render_mode, self.metadata["render_modes"])
        self.env = core.make(scenario, **params)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self.single_observation_space = observation_space(self.env)
        self.single_action_space = spaces.Discrete(self.env.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._simulation = Simulation(self.env, num_envs)
        self._streams: list[tuple[np.random.Generator, int] | None] = [None] * num_envs
        self._picture: Picture | None = None
        self._obs: NDArray[np.float32] | None = None
        self._begun = np.zeros(num_envs, np.bool_)
        self._ended = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], Info]:
        """New populations. An int seeds copy i with seed + i; a list has one seed (or None) a copy.

        `options={"reset_mask": flags}` begins anew in the flagged copies only; other options are ignored.
        """
        which = np.flatnonzero(self._check_mask((options or {}).get("reset_mask")))
        seeds = self._check_seeds(seed)
        for copy in which:
            if seeds[copy] is not None or self._streams[copy] is None:
                self._streams[copy] = seeding.np_random(seeds[copy])
        self._begun[which] = True
        return self._begin(which).copy(), {}

    def step(self, actions: Any) -> tuple[NDArray[np.float32], NDArray[np.float64], Flags, Flags, Info]:
        skip = self._ended if self.autoreset_mode is AutoresetMode.NEXT_STEP else np.zeros_like(self._ended)
        decided = self._simulation.step(self._check_step(actions, skip))
        if skip.any():
            decided = self._begin_instead(decided, skip)
        ended = decided.terminated | decided.truncated
        self._obs, self._ended = decided.obs, ended
        if self.autoreset_mode is AutoresetMode.SAME_STEP and ended.any():
            info = self._same_step(decided, ended)
        else:
            info = self._info(decided, ~skip, ended)
        return self._obs.copy(), decided.reward, decided.terminated, decided.truncated, info

    def render(self) -> tuple[NDArray[np.uint8], ...]:
        """One picture a copy."""
        if self.render_mode is None:
            raise gymnasium.error.UnsupportedMode(
                'there is nothing to render without a render_mode; make the environment with render_mode="rgb_array"'
            )
        if self._obs is None:
            raise gymnasium.error.ResetNeeded("render() came before reset(); call reset() first")
        if self._picture is None:
            self._picture = Picture(self.env)
        frames = [self._picture.draw(self._simulation, i, obs) for i, obs in enumerate(self._obs)]
        return tuple(frame for frame in frames if frame is not None)

    def close_extras(self, **kwargs: Any) -> None:
        if self._picture is not None:
            self._picture.close()
            self._picture = None

    def _begin(self, which: NDArray[np.intp]) -> NDArray[np.float32]:
        """The next episode of the copies `which`, each from its own stream; the observations of all copies."""
        keys = np.stack([episode_key(stream[0]) for i in which if (stream := self._streams[i]) is not None])
        self._obs = self._simulation.reset(which, keys)
        self._ended = self._ended.copy()
        self._ended[which] = False
        return self._obs

    def _begin_instead(self, decided: Decided, skip: Flags) -> Decided:
        """What a NextStep environment returns where the last episode had ended: the new one's observation."""
        return decided._replace(
            obs=self._begin(np.flatnonzero(skip)),
            reward=np.where(skip, 0.0, decided.reward),
            terminated=decided.terminated & ~skip,
            truncated=decided.truncated & ~skip,
        )

    def _same_step(self, decided: Decided, ended: Flags) -> Info:
        """Begin the ended copies anew at once; how they ended goes to `final_obs` and `final_info`."""
        final_obs = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            final_obs[i] = decided.obs[i]
        final = self._info(decided, ended, ended)
        self._begin(np.flatnonzero(ended))
        now = self._info(decided, ~ended, np.zeros_like(ended))
        return now | _masked({"final_obs": final_obs, "final_info": final}, ended)

    def _info(self, decided: Decided, present: Flags, ended: Flags) -> Info:
        values = {
            "group": decided.group,
            "qualified": decided.qualified,
            "cost": decided.cost,
            "next_self_observation": decided.next_self_obs,
        }
        if not present.all():
            values = {name: _blanked(value, present) for name, value in values.items()}
        info = _masked(values, present)
        if ended.any():
            outcome = self._simulation.outcome(np.flatnonzero(ended))
            info |= _masked({"outcome": _masked(outcome, ended)}, ended)
        return info

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Each copy's own stream, from which its episodes' keys are drawn."""
        return tuple(stream[0] for stream in self._seeded_streams())

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(stream[1] for stream in self._seeded_streams())

    def _seeded_streams(self) -> list[tuple[np.random.Generator, int]]:
        self._streams = [stream or seeding.np_random() for stream in self._streams]
        return [stream for stream in self._streams if stream is not None]

    def _check_step(self, actions: Any, skip: Flags) -> NDArray[np.int32]:
        if not self._begun.all():
            raise gymnasium.error.ResetNeeded("step() came before reset(); call reset() first")
        if self.autoreset_mode is AutoresetMode.DISABLED and self._ended.any():
            raise gymnasium.error.ResetNeeded(
                f"the episodes of copies {_some(self._ended)} are over and autoreset is disabled; "
                'call reset(options={"reset_mask": terminated | truncated}) first'
            )
        array = np.asarray(actions)
        if array.shape != (self.num_envs,):
            raise ValueError(
                f"actions must have shape ({self.num_envs},), got {array.shape}; pass one a copy"
            )
        wrong = ~valid_actions(array, self.env) & ~skip
        if wrong.any():
            raise ValueError(
                f"actions must be {describe_actions(self.env)}, got {array[wrong][0]!r} "
                f"for copies {_some(wrong)}; pass integers"
            )
        return array.astype(np.int32)

    def _check_seeds(self, seed: Any) -> list[int | None]:
        if seed is None or isinstance(seed, int | np.integer):
            check_seed(seed)
            return [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"seeds must be one a copy ({self.num_envs}), got {len(seeds)}; or pass one int")
        for one in seeds:
            check_seed(one)
        return [None if one is None else int(one) for one in seeds]

    def _check_mask(self, mask: Any) -> Flags:
        if mask is None:
            return np.ones(self.num_envs, np.bool_)
        array = np.asarray(mask)
        if array.shape != (self.num_envs,) or array.dtype != np.bool_ or not array.any():
            raise ValueError(
                f"reset_mask must be {self.num_envs} booleans of which at least one is True, got {mask!r}; "
                "pass terminated | truncated"
            )
        return array


def check_autoreset_mode(mode: Any) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        known = ", ".join(repr(m.value) for m in AutoresetMode)
        raise ValueError(
            f"autoreset_mode must be one of {known}, got {mode!r}; or pass an AutoresetMode"
        ) from None


def _masked(values: dict[str, Any], present: Flags) -> Info:
    """Gymnasium's convention: `_key` says for which copies `key` holds something."""
    return {**values, **{f"_{name}": present.copy() for name in values}}


def _blanked(value: NDArray[Any], present: Flags) -> NDArray[Any]:
    shown = present.reshape(-1, *[1] * (value.ndim - 1))
    return np.where(shown, value, np.zeros((), value.dtype))


def _some(flags: Flags) -> str:
    """The first few flagged copies, for a message."""
    which = np.flatnonzero(flags)
    return ", ".join(map(str, which[:5])) + (", ..." if which.size > 5 else "")
