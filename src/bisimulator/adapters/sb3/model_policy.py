"""Stable-Baselines3's policies as functions of observations, and a features extractor for observations in 0..1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor


class StretchedInputs(BaseFeaturesExtractor):
    """Observations times `scale`, as `input_scale` of the library's own solvers.

    Observations in 0..1 leave small networks soft: pass
    `policy_kwargs={"features_extractor_class": StretchedInputs}` to the model.
    """

    def __init__(self, observation_space: spaces.Space[Any], scale: float = 20.0):
        if not isinstance(observation_space, spaces.Box):
            raise ValueError(f"StretchedInputs works on Box observations, got {observation_space}")
        super().__init__(observation_space, int(np.prod(observation_space.shape)))
        self.scale = scale

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return observations.flatten(1) * self.scale


def as_policy(model: BaseAlgorithm, *, deterministic: bool = True) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """A trained model as a policy for `bisimulator.evaluate`: a function of observations to actions."""
    normalise = normaliser(model)

    def act(observations: NDArray[Any]) -> NDArray[Any]:
        return model.predict(normalise(np.array(observations)), deterministic=deterministic)[0]

    return act


def action_probabilities(model: BaseAlgorithm, observations: NDArray[Any]) -> NDArray[np.float32]:
    """pi(a | observation) of a model with Discrete actions; of a value-based one, its best action for certain."""
    space = model.action_space
    assert isinstance(space, spaces.Discrete)
    seen = normaliser(model)(np.array(observations))
    if isinstance(model.policy, ActorCriticPolicy):
        with torch.no_grad():
            inner = model.policy.get_distribution(model.policy.obs_to_tensor(seen)[0]).distribution
        return inner.probs.cpu().numpy()  # type: ignore[union-attr]
    return np.eye(int(space.n), dtype=np.float32)[model.predict(seen, deterministic=True)[0] - space.start]


def normaliser(model: BaseAlgorithm) -> Callable[[Any], Any]:
    """What a `VecNormalize` around the environment does to observations, or nothing."""
    wrapped = model.get_vec_normalize_env()
    return (lambda observations: observations) if wrapped is None else wrapped.normalize_obs
