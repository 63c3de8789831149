"""Stable-Baselines3 models as functions of observations, and a features extractor for observations in 0..1."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import torch
from gymnasium import spaces
from jaxtyping import PyTree
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

Observations: TypeAlias = PyTree[np.ndarray]


class StretchedInputs(BaseFeaturesExtractor):
    """Multiplies observations by `scale`, like `input_scale` of the library's own solvers.

    Small networks learn slowly from observations in 0..1, because their outputs hardly differ there.

    Args:
        observation_space: a Box.
        scale: what observations are multiplied by.

    Raises:
        ValueError: if the observation space is not a Box.

    Example:
        >>> model = PPO("MlpPolicy", venv, policy_kwargs={"features_extractor_class": StretchedInputs})
    """

    def __init__(self, observation_space: spaces.Space[object], scale: float = 20.0) -> None:
        if not isinstance(observation_space, spaces.Box):
            raise ValueError(
                f"observation_space must be a Box, got {observation_space}; "
                "leave StretchedInputs out of policy_kwargs for other spaces"
            )
        super().__init__(observation_space, int(np.prod(observation_space.shape)))
        self.scale = scale

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return observations.flatten(1) * self.scale

    def extra_repr(self) -> str:
        return f"scale={self.scale:g}"


def as_policy(
    model: BaseAlgorithm, *, deterministic: bool = True
) -> Callable[[ArrayLike], NDArray[np.generic]]:
    """A trained model as a policy, for `bisimulator.evaluate`.

    Args:
        model: a model of Stable-Baselines3; a `VecNormalize` around its environment is applied.
        deterministic: whether to take the best action or to sample one.

    Returns:
        A function from a batch of observations to actions.

    Example:
        >>> env = bisimulator.make("lending", population=100)
        >>> bisimulator.evaluate(env, as_policy(model), episodes=2, seeds=2)
    """
    normalise = normaliser(model)

    def act(observations: ArrayLike) -> NDArray[np.generic]:
        return model.predict(normalise(np.array(observations)), deterministic=deterministic)[0]

    return act


def action_probabilities(model: BaseAlgorithm, observations: ArrayLike) -> NDArray[np.float32]:
    """pi(a | observation) of a model with Discrete actions; 1 for the best action of a value-based model."""
    space = model.action_space
    assert isinstance(space, spaces.Discrete)
    normalised = normaliser(model)(np.array(observations))
    if isinstance(model.policy, ActorCriticPolicy):
        with torch.no_grad():
            inputs = model.policy.obs_to_tensor(normalised)[0]
            distribution = model.policy.get_distribution(inputs).distribution
        assert isinstance(distribution, torch.distributions.Categorical)
        probabilities: NDArray[np.float32] = distribution.probs.cpu().numpy()
        return probabilities
    best = model.predict(normalised, deterministic=True)[0] - space.start
    certain: NDArray[np.float32] = np.eye(int(space.n), dtype=np.float32)[best]
    return certain


def normaliser(model: BaseAlgorithm) -> Callable[[Observations], Observations]:
    """What a `VecNormalize` around the environment does to observations; the identity if there is none."""
    wrapper = model.get_vec_normalize_env()
    return (lambda observations: observations) if wrapper is None else wrapper.normalize_obs
