"""`check_group_env`: does an environment follow the convention of `adapters.group_info`, and if not, how to fix it?"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import gymnasium
import numpy as np
from gymnasium.core import ActType, ObsType
from gymnasium.vector import VectorEnv
from numpy.typing import ArrayLike, NDArray

from bisimulator.adapters._encoding import Encoding, Score
from bisimulator.adapters.group_info import Bounds, Info, env_attribute, missing_group
from bisimulator.errors import check_int

_USUAL_REWARD_SD = (0.05, 20.0)

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, repr=False)
class GroupEnvCheck:
    """What `check_group_env` saw. `notes` are no errors: the Bisimulator works, but with less than it could have."""

    num_groups: int
    decisions: tuple[int, ...]  # how many of the tried decisions were about each group
    has_qualified: bool
    has_next_self: bool
    has_observation_params: bool
    notes: tuple[str, ...]

    @property
    def rows(self) -> list[tuple[str, str]]:
        """The result as names and values."""
        decisions = ", ".join(f"{n} of group {g}" for g, n in enumerate(self.decisions))
        optional = {
            "qualified": self.has_qualified,
            "next_self_observation": self.has_next_self,
            "settable observation parameters": self.has_observation_params,
        }
        return [
            ("groups", str(self.num_groups)),
            ("decisions tried", decisions),
            *((name, "yes" if present else "no") for name, present in optional.items()),
            *(("note", note) for note in self.notes),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{name}: {value}" for name, value in self.rows)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(num_groups={self.num_groups}, decisions={self.decisions}, "
            f"notes={len(self.notes)})"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in self.rows
        )
        return f"<table>{rows}</table>"


def check_group_env(
    env: gymnasium.Env[ObsType, ActType],
    *,
    steps: int = 300,
    seed: int = 0,
    score: Score = None,
    reject: ArrayLike | None = None,
) -> GroupEnvCheck:
    """Check that an environment names groups, by trying random decisions.

    Gymnasium's own rules are checked by `gymnasium.utils.env_checker.check_env`.

    Args:
        env: a single environment.
        steps: how many decisions to try.
        seed: of the environment and of the actions.
        score: as it will be passed to the Bisimulator.
        reject: as it will be passed to the Bisimulator.

    Returns:
        What the environment offers, with notes about what could be better.

    Raises:
        ValueError: with everything that is missing, and how to fix each.

    Example:
        >>> check_group_env(gymnasium.make("bisimulator/Lending-v0"))
        GroupEnvCheck(num_groups=2, decisions=(150, 150), notes=0)
    """
    if isinstance(env, VectorEnv):
        raise ValueError(
            "env must be a single environment, got a vector environment; pass MyEnv(), for example"
        )
    check_int("steps", steps, min=1)
    problems = _Problems()
    number = problems.collect(lambda: _num_groups(env))
    problems.collect(
        lambda: Encoding(env.observation_space, env.action_space, number or 2, score=score, reject=reject)
    )
    infos, rewards = _try_decisions(env, steps, seed)
    groups = problems.collect(lambda: _groups(infos, number)) or []
    has_next = problems.collect(lambda: _has_next_self(infos, env.observation_space)) or False
    has_params = problems.collect(lambda: _has_observation_params(env, number)) or False
    problems.raise_all()
    assert number is not None
    counts = np.bincount(groups, minlength=number)
    qualified = all("qualified" in info for info in infos)
    notes = _notes(counts, rewards, qualified, has_next, has_params)
    return GroupEnvCheck(number, tuple(map(int, counts)), qualified, has_next, has_params, notes)


class _Problems:
    """Collects errors, so that all of them are reported at once."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def collect(self, check: Callable[[], T]) -> T | None:
        try:
            return check()
        except ValueError as error:
            self.messages.append(str(error))
            return None

    def raise_all(self) -> None:
        if self.messages:
            raise ValueError("\n".join(f"- {message}" for message in self.messages))


def _num_groups(env: gymnasium.Env[ObsType, ActType]) -> int:
    number = env_attribute(env, "num_groups")
    if number is None:
        raise ValueError(
            "the environment has no attribute num_groups; set self.num_groups = 2, for example, in its __init__, "
            "or wrap it: WithGroups(env, group=lambda observation: ..., num_groups=2)"
        )
    return check_int("num_groups", number, min=2)


def _try_decisions(
    env: gymnasium.Env[ObsType, ActType], steps: int, seed: int
) -> tuple[list[Info], list[float]]:
    """The infos and rewards of random decisions."""
    infos, rewards = [], []
    env.action_space.seed(seed)
    env.reset(seed=seed)
    for _ in range(steps):
        _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        infos.append(info)
        rewards.append(float(reward))
        if terminated or truncated:
            env.reset()
    return infos, rewards


def _groups(infos: Sequence[Info], number: int | None) -> list[int]:
    without = sum("group" not in info for info in infos)
    if without == len(infos):
        raise missing_group()
    if without:
        raise ValueError(
            f"info has no 'group' in {without} of {len(infos)} steps; set info['group'] in every step, "
            "to -1 if nobody was decided on"
        )
    for info in infos:
        group = info["group"]
        if np.ndim(group) or np.asarray(group).dtype.kind not in "iu":
            raise ValueError(
                f"info['group'] must be a whole number, got {group!r}; count groups from 0, as in info['group'] = 0"
            )
        if number is not None and not -1 <= int(group) < number:
            raise ValueError(
                f"info['group'] must lie in 0..{number - 1} (num_groups = {number}), got {group}; count groups from 0"
            )
    return [int(info["group"]) for info in infos if int(info["group"]) >= 0]


def _has_next_self(infos: Sequence[Info], space: gymnasium.Space[object]) -> bool:
    if not all("next_self_observation" in info for info in infos):
        return False
    for info in infos:
        if not space.contains(info["next_self_observation"]):
            raise ValueError(
                f"info['next_self_observation'] must be an observation ({space}), got "
                f"{info['next_self_observation']!r}; set it to the observation of the same person after the decision"
            )
    return True


def _has_observation_params(env: gymnasium.Env[ObsType, ActType], number: int | None) -> bool:
    names = ("observation_params", "observation_params_bounds", "set_observation_params")
    attributes = {name: env_attribute(env, name) for name in names}
    missing = [name for name in names if attributes[name] is None]
    if len(missing) == len(names):
        return False
    if missing:
        raise ValueError(
            f"observation parameters need all of {', '.join(names)}; {', '.join(missing)} is missing: "
            "add it, or remove the others"
        )
    before = np.array(attributes["observation_params"], float)
    if number is not None and (before.ndim == 0 or before.shape[0] != number):
        raise ValueError(
            f"observation_params must have one row for each of {number} groups, got shape {before.shape}; "
            f"pass np.zeros(({number}, 1)), for example"
        )
    bounds = cast("Bounds", attributes["observation_params_bounds"])
    low, high = (np.broadcast_to(x, before.shape) for x in bounds)
    if not ((low <= before) & (before <= high)).all():
        raise ValueError(
            f"observation_params must lie within observation_params_bounds, got {before.tolist()} for "
            f"{low.tolist()} to {high.tolist()}; widen the bounds"
        )
    _check_setter(env, before, (low + high) / 2)
    return True


def _check_setter(
    env: gymnasium.Env[ObsType, ActType], before: NDArray[np.float64], other: NDArray[np.float64]
) -> None:
    """Set other observation parameters, read them, and set the old ones again."""
    set_params = cast("Callable[[ArrayLike], None]", env_attribute(env, "set_observation_params"))
    set_params(other)
    after = np.array(env_attribute(env, "observation_params"), float)
    set_params(before)
    if not np.allclose(after, other, rtol=1e-4, atol=1e-6):
        raise ValueError(
            f"set_observation_params(values) must change observation_params to {other.tolist()}, got {after.tolist()}; "
            "store the values, as in self.observation_params = np.array(values)"
        )


def _notes(
    counts: NDArray[np.intp], rewards: Sequence[float], qualified: bool, has_next: bool, has_params: bool
) -> tuple[str, ...]:
    notes = []
    for group in np.flatnonzero(counts == 0):
        notes.append(
            f"group {group} did not appear in {counts.sum()} decisions; a group can only be compared if it appears"
        )
    sd = float(np.std(rewards))
    if not _USUAL_REWARD_SD[0] <= sd <= _USUAL_REWARD_SD[1]:
        notes.append(
            f"the standard deviation of rewards is {sd:.3g}; the correction learns best if it is about 1: scale them, "
            "for example with gymnasium.wrappers.TransformReward"
        )
    if not qualified:
        notes.append("without info['qualified'] there is no recall; approval rates can still be compared")
    if has_params and not has_next:
        notes.append(
            "observation parameters cannot be learned without info['next_self_observation']; pass dynamics_steps=0"
        )
    return tuple(notes)
