"""`check_group_env`: does an environment follow the convention of `adapters.groups`, and if not, what is the fix?"""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv

from bisimulator.adapters._encoding import Encoding, Score
from bisimulator.adapters.group_info import missing_group, offered
from bisimulator.errors import check_int

_USUAL_REWARD = (0.05, 20.0)


@dataclasses.dataclass(frozen=True)
class GroupEnvCheck:
    """What was found. `notes` are no errors: the Bisimulator works, but with less than it could have."""

    num_groups: int
    decisions: tuple[int, ...]  # how many of the tried ones were about each group
    has_qualified: bool
    has_next_self: bool
    has_observation_params: bool
    notes: tuple[str, ...]

    def __str__(self) -> str:
        tried = ", ".join(f"{n} of group {g}" for g, n in enumerate(self.decisions))
        parts = {
            "qualified": self.has_qualified,
            "next_self_observation": self.has_next_self,
            "settable observation parameters": self.has_observation_params,
        }
        lines = [f"{self.num_groups} groups; decisions tried: {tried}"]
        lines += [f"{name}: {'yes' if there else 'no'}" for name, there in parts.items()]
        return "\n".join(lines + [f"note: {note}" for note in self.notes])


def check_group_env(
    env: gymnasium.Env[Any, Any], *, steps: int = 300, seed: int = 0, score: Score = None, reject: Any = None
) -> GroupEnvCheck:
    """Try `steps` random decisions. Raises a ValueError that names everything that is missing, each with its fix.

    `score` and `reject` as they will be passed to the Bisimulator. Gymnasium's own rules are checked by
    `gymnasium.utils.env_checker.check_env`.
    """
    if isinstance(env, VectorEnv):
        raise ValueError(
            "check_group_env takes one environment, got a vector of them; pass one of its copies"
        )
    check_int("steps", steps, min=1)
    problems = _Problems()
    number = problems.catch(lambda: _num_groups(env))
    problems.catch(
        lambda: Encoding(env.observation_space, env.action_space, number or 2, score=score, reject=reject)
    )
    infos, rewards = _try(env, steps, seed)
    groups = problems.catch(lambda: _groups(infos, number)) or []
    has_next = problems.catch(lambda: _next_self(infos, env.observation_space)) or False
    has_params = problems.catch(lambda: _observation_params(env, number)) or False
    problems.report()
    assert number is not None
    counts = np.bincount(groups, minlength=number)
    qualified = all("qualified" in info for info in infos)
    notes = _notes(counts, rewards, qualified, has_next, has_params)
    return GroupEnvCheck(number, tuple(map(int, counts)), qualified, has_next, has_params, notes)


class _Problems:
    """Collects what is wrong, so that everything is told at once."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def catch(self, check: Any) -> Any:
        try:
            return check()
        except ValueError as error:
            self.found.append(str(error))
            return None

    def report(self) -> None:
        if self.found:
            raise ValueError("\n".join(f"- {problem}" for problem in self.found))


def _num_groups(env: Any) -> int:
    number = offered(env, "num_groups")
    if number is None:
        raise ValueError(
            "the environment has no attribute num_groups; set self.num_groups in its __init__, or wrap it: "
            "WithGroups(env, group=lambda observation: ..., num_groups=2)"
        )
    return check_int("num_groups", number, min=2)


def _try(env: gymnasium.Env[Any, Any], steps: int, seed: int) -> tuple[list[dict[str, Any]], list[float]]:
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


def _groups(infos: list[dict[str, Any]], number: int | None) -> list[int]:
    without = sum("group" not in info for info in infos)
    if without == len(infos):
        raise missing_group()
    if without:
        raise ValueError(
            f"info has no 'group' in {without} of {len(infos)} steps; every decision is about somebody, so set it "
            "always, or to -1 where nobody was decided on"
        )
    for info in infos:
        group = info["group"]
        if np.ndim(group) or np.asarray(group).dtype.kind not in "iu":
            raise ValueError(
                f"info['group'] must be a whole number, got {group!r}; count groups from 0 and map names to numbers"
            )
        if number is not None and not -1 <= int(group) < number:
            raise ValueError(
                f"info['group'] must lie in 0..{number - 1} (num_groups = {number}), got {group}; count groups from 0"
            )
    return [int(info["group"]) for info in infos if int(info["group"]) >= 0]


def _next_self(infos: list[dict[str, Any]], space: gymnasium.Space[Any]) -> bool:
    if not all("next_self_observation" in info for info in infos):
        return False
    for info in infos:
        if not space.contains(info["next_self_observation"]):
            raise ValueError(
                f"info['next_self_observation'] must be an observation ({space}), got "
                f"{info['next_self_observation']!r}; give what the same person looks like after the decision"
            )
    return True


def _observation_params(env: Any, number: int | None) -> bool:
    names = ("observation_params", "observation_params_bounds", "set_observation_params")
    there = [offered(env, name) is not None for name in names]
    if not any(there):
        return False
    if not all(there):
        missing = ", ".join(name for name, found in zip(names, there, strict=True) if not found)
        raise ValueError(
            f"observation parameters need all of {', '.join(names)}; {missing} is missing: add it, or remove the others"
        )
    before = np.array(offered(env, "observation_params"), float)
    if number is not None and (before.ndim == 0 or before.shape[0] != number):
        raise ValueError(
            f"observation_params must have a row for each of {number} groups, got shape {before.shape}; "
            "make it (groups, parameters)"
        )
    low, high = (np.broadcast_to(x, before.shape) for x in offered(env, "observation_params_bounds"))
    if not ((low <= before) & (before <= high)).all():
        raise ValueError(
            f"observation_params must lie within observation_params_bounds, got {before.tolist()} for "
            f"{low.tolist()} to {high.tolist()}; widen the bounds"
        )
    other = (low + high) / 2
    offered(env, "set_observation_params")(other)
    after = np.array(offered(env, "observation_params"), float)
    offered(env, "set_observation_params")(before)
    if not np.allclose(after, other, rtol=1e-4, atol=1e-6):
        raise ValueError(
            f"set_observation_params({other.tolist()}) left observation_params at {after.tolist()}; store what is set"
        )
    return True


def _notes(
    counts: np.ndarray, rewards: list[float], qualified: bool, has_next: bool, has_params: bool
) -> tuple[str, ...]:
    notes = []
    for group in np.flatnonzero(counts == 0):
        notes.append(
            f"group {group} did not appear in {counts.sum()} decisions; it cannot be compared while it does not"
        )
    size = float(np.std(rewards))
    if not _USUAL_REWARD[0] <= size <= _USUAL_REWARD[1]:
        notes.append(
            f"rewards vary by {size:.3g}; the correction learns best where that is about 1: scale them, "
            "as with gymnasium.wrappers.TransformReward"
        )
    if not qualified:
        notes.append("without info['qualified'] there is no recall; approval rates can still be compared")
    if has_params and not has_next:
        notes.append(
            "observation parameters cannot be learned without info['next_self_observation']; pass dynamics_steps=0"
        )
    return tuple(notes)
