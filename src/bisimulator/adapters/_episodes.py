"""Episodes of any Gymnasium environment, single or vector, under any policy, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import gymnasium
import jax
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from numpy.typing import NDArray

from bisimulator.adapters._decisions import Said, read_infos, read_vector_info
from bisimulator.adapters._pytrees import add_batch_axis
from bisimulator.adapters.group_info import missing_group
from bisimulator.adapters.gymnasium.env import BisimulatorEnv
from bisimulator.adapters.gymnasium.vector_env import BisimulatorVectorEnv
from bisimulator.errors import shown
from bisimulator.policies import Policy

AnyEnv: TypeAlias = "gymnasium.Env[Any, Any] | VectorEnv[Any, Any, Any]"
ActFunction: TypeAlias = Callable[
    [Any], Any
]  # from an observation, or a batch of a vector environment, to actions


@runtime_checkable
class Model(Protocol):
    """A model of Stable-Baselines3."""

    def predict(self, observation: Any, *, deterministic: bool) -> tuple[NDArray[np.generic], Any]: ...

    def get_vec_normalize_env(self) -> Any: ...


class StepOfEpisodes(NamedTuple):
    """One step of B environments."""

    episode: NDArray[np.int64]  # (B,), to which episode it belongs; -1: to none that counts
    actions: NDArray[np.generic]
    rewards: NDArray[np.float64]
    said: Said


def act_function(policy: Policy | Model | ActFunction, env: AnyEnv, seed: int) -> ActFunction:
    """Any policy as a function of what the environment returns as an observation.

    Raises:
        TypeError: if it is no policy.
        ValueError: if a policy of the library is used outside the library's environments, or needs whole episodes.
    """
    if isinstance(policy, Model):
        from bisimulator.adapters.sb3.model_policy import as_trained  # needs Stable-Baselines3

        return as_trained(policy)  # type: ignore[arg-type]
    if callable(policy):
        return policy
    if isinstance(policy, Policy):
        return _library_policy(policy, env, seed)
    raise TypeError(
        f"got {shown(policy)} as a policy; pass a function of observations, a model of Stable-Baselines3 or a policy "
        "of bisimulator.policies"
    )


def episode_steps(env: AnyEnv, act: ActFunction, episodes: int, seed: int) -> Iterator[StepOfEpisodes]:
    """All steps of this many episodes. Each environment of a vector has its share of them, whatever their lengths."""
    if isinstance(env, VectorEnv):
        return _vector_steps(env, act, episodes, seed)
    return _single_steps(env, act, episodes, seed)


def _single_steps(
    env: gymnasium.Env[Any, Any], act: ActFunction, episodes: int, seed: int
) -> Iterator[StepOfEpisodes]:
    for episode in range(episodes):
        obs, _ = env.reset(seed=seed + episode)
        ended = False
        while not ended:
            action = act(obs)
            obs, reward, terminated, truncated, info = env.step(action)
            rewards = np.array([reward], np.float64)
            yield StepOfEpisodes(np.array([episode]), np.asarray(action)[None], rewards, read_infos([info]))
            ended = terminated or truncated


def _vector_steps(
    env: VectorEnv[Any, Any, Any], act: ActFunction, episodes: int, seed: int
) -> Iterator[StepOfEpisodes]:
    disabled = env.metadata.get("autoreset_mode") is AutoresetMode.DISABLED
    obs, _ = env.reset(seed=seed)
    episode, ended = np.arange(env.num_envs), np.zeros(env.num_envs, np.bool_)
    while (episode < episodes).any():
        actions = np.asarray(act(obs))
        before = ended
        obs, rewards, terminated, truncated, info = env.step(actions)
        said, ended = read_vector_info(info, env.num_envs), np.logical_or(terminated, truncated)
        if (said.group < 0).all() and not before.all():  # a step that only resets decides on nobody
            raise missing_group()
        counted = np.where(episode < episodes, episode, -1)
        yield StepOfEpisodes(counted, actions, np.asarray(rewards, np.float64), said)
        episode = episode + env.num_envs * ended
        if disabled and ended.any():
            obs, _ = env.reset(options={"reset_mask": ended})


def _library_policy(policy: Policy, env: AnyEnv, seed: int) -> ActFunction:
    inner = env.unwrapped
    if not isinstance(inner, BisimulatorEnv | BisimulatorVectorEnv):
        raise ValueError(
            f"a policy of bisimulator.policies needs one of the library's environments, got {env}; "
            "pass a function of observations"
        )
    if policy.depends_on in ("time", "episode"):
        raise ValueError(
            f"{shown(policy)} also looks at what happened before in the episode; use bisimulator.evaluate for it"
        )
    act, key, single = jax.jit(policy.bind(inner.env)), jax.random.key(seed), not isinstance(env, VectorEnv)
    steps = iter(range(2**31))

    def call(obs: NDArray[np.float32]) -> NDArray[np.generic]:
        actions = np.asarray(
            act(jax.random.fold_in(key, next(steps)), add_batch_axis(obs) if single else obs)
        )
        return actions[0] if single else actions

    return call
