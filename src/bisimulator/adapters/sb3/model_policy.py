"""Stable-Baselines3 models as policies, and a features extractor for observations in 0..1."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from typing import TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import torch
from gymnasium import spaces
from jaxtyping import Array, Float, Int, Key, PyTree
from numpy.typing import ArrayLike, NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from bisimulator.adapters._pytrees import copy_arrays
from bisimulator.core import Act, Env
from bisimulator.policies import Policy

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


class ModelPolicy(Policy):
    """A model as a policy of the library, for `evaluate`, `certify` and `audit`; and a function of observations.

    Example:
        >>> policy = ModelPolicy(model, deterministic=False)
        >>> bisimulator.evaluate(bisimulator.make("lending"), policy)
        >>> actions = policy(observations)  # NumPy, in any environment
    """

    model: BaseAlgorithm = eqx.field(static=True)
    deterministic: bool = eqx.field(static=True)

    def __call__(self, observations: Observations) -> NDArray[np.generic]:
        normalised = normaliser(self.model)(copy_arrays(observations))
        return self.model.predict(normalised, deterministic=self.deterministic)[0]

    def bind(self, env: Env) -> Act:
        return ModelAct(weakref.ref(self.model), env.num_actions, self.deterministic)

    def accept_probability(self, env: Env, obs: Float[Array, "B D"]) -> Float[Array, "B"]:
        probabilities = action_probabilities(self.model, obs, deterministic=self.deterministic)
        return jnp.asarray(
            probabilities[:, np.asarray(env.scenario.accepts(jnp.arange(env.num_actions)))].sum(1)
        )


@dataclasses.dataclass(frozen=True)
class ModelAct:
    """A model's current policy, called from a compiled program, which supplies the random numbers.

    The reference is weak: JAX keeps compiled programs, and models should not be kept alive with them.
    """

    model: weakref.ref[BaseAlgorithm]
    num_actions: int
    deterministic: bool = False

    def __call__(self, key: Key[Array, ""], obs: Float[Array, "*B D"]) -> Int[Array, "*B"]:
        shape = jax.eval_shape(lambda: jnp.zeros((*obs.shape[:-1], self.num_actions), jnp.float32))
        probabilities = jax.pure_callback(self._probabilities, shape, obs, vmap_method="expand_dims")
        return jax.random.categorical(key, jnp.log(probabilities))

    def _probabilities(self, obs: Float[Array, "*B D"]) -> NDArray[np.float32]:
        model, array = self.model(), np.asarray(obs)
        assert model is not None
        flat = array.reshape(-1, array.shape[-1])
        probabilities = action_probabilities(model, flat, deterministic=self.deterministic)
        return probabilities.reshape(*array.shape[:-1], self.num_actions)


def as_policy(model: BaseAlgorithm, *, deterministic: bool = True) -> ModelPolicy:
    """A trained model as a policy, for `bisimulator.evaluate`.

    Args:
        model: a model of Stable-Baselines3; a `VecNormalize` around its environment is applied.
        deterministic: whether to take the best action or to sample one. Sample after training with a goal.

    Returns:
        The policy, which is also a function from observations to actions.

    Example:
        >>> env = bisimulator.make("lending", population=100)
        >>> bisimulator.evaluate(env, as_policy(model), episodes=2, seeds=2)
    """
    return ModelPolicy(model, deterministic)


def as_trained(model: BaseAlgorithm) -> ModelPolicy:
    """A model as it acts in training, but for exploration: on-policy models sample, off-policy models do their best."""
    return ModelPolicy(model, deterministic=isinstance(model, OffPolicyAlgorithm))


def action_probabilities(
    model: BaseAlgorithm, observations: ArrayLike, *, deterministic: bool = False
) -> NDArray[np.float32]:
    """pi(a | observation) of a model with Discrete actions; 1 for the best action of a value-based model."""
    space = model.action_space
    assert isinstance(space, spaces.Discrete)
    normalised = normaliser(model)(np.array(observations))
    if isinstance(model.policy, ActorCriticPolicy) and not deterministic:
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
