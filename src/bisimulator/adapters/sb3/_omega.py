"""Better observation parameters omega for a Stable-Baselines3 model, by trying candidates on whole episodes."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper, VecMonitor, VecNormalize

from bisimulator.adapters import omega_search as search
from bisimulator.adapters._pytrees import batch_of_one
from bisimulator.adapters.corrector import Corrector
from bisimulator.adapters.sb3.model_policy import action_probabilities, normaliser
from bisimulator.adapters.sb3.vec_env import BisimulatorVecEnv
from bisimulator.core import Scenario
from bisimulator.methods.bisimulator import Bisimulator, State, build


def improve_omega(
    corrector: Corrector, model: BaseAlgorithm, make_env: Callable[[], gymnasium.Env[Any, Any]] | None
) -> None:
    """In one compiled program for our own environments, else in an environment of the user's, step by step."""
    if make_env is None:
        _improve_compiled(corrector, model, model.get_env().unwrapped)  # type: ignore[union-attr, arg-type]
        return
    env, normalise = make_env(), normaliser(model)

    def act(observation: Any) -> Any:
        return model.predict(normalise(batch_of_one(observation)), deterministic=False)[0][0]

    try:
        search.improve_omega(corrector, env, act)
    finally:
        env.close()


def check_can_improve(corrector: Corrector, model: BaseAlgorithm, make_env: Any) -> None:
    """Say before the training starts that omega cannot be learned, not when it is due."""
    venv = model.get_env()
    if make_env is not None:
        return
    if not is_ours(venv):
        raise ValueError(
            "the environment's observation parameters can be learned, but there is no environment to try candidates in "
            "without disturbing the training; pass dynamics_env=lambda: MyEnv(), or dynamics_steps=0"
        )
    if corrector.encoding.size != venv.unwrapped.envs.env.observation_size:  # type: ignore[union-attr]
        raise ValueError(
            "omega of this environment is learned with its own observed score; "
            "leave score out, or pass dynamics_steps=0"
        )


def is_ours(venv: VecEnv | None) -> bool:
    """One of our environments whose observations nothing changes but a VecNormalize."""
    while isinstance(venv, VecEnvWrapper):
        if not isinstance(venv, VecMonitor | VecNormalize):
            return False
        venv = venv.venv
    return isinstance(venv, BisimulatorVecEnv)


def _improve_compiled(corrector: Corrector, model: BaseAlgorithm, venv: BisimulatorVecEnv) -> None:
    env = venv.envs.env
    corrector.state = _adapt(
        build(corrector.config, env),
        corrector.next_key(),
        corrector.state,
        _Act(weakref.ref(model), env.num_actions),
        env.scenario,
        env.params,
        int(env.params.horizon),
    )


@partial(jax.jit, static_argnums=(0, 3, 4, 6))
def _adapt(
    method: Bisimulator,
    key: Key[Array, ""],
    state: State,
    act: _Act,
    scenario: Scenario,
    params: Any,
    horizon: int,
) -> State:
    return method.adapt(key, state, act, scenario, params, horizon)


@dataclasses.dataclass(frozen=True)
class _Act:
    """The model as it stands, called from the compiled program; random numbers come from there.

    A weak reference: compiled programs are kept, models should not be kept with them.
    """

    model: weakref.ref[BaseAlgorithm]
    num_actions: int

    def __call__(self, key: Key[Array, ""], obs: Float[Array, "*B D"]) -> Int[Array, "*B"]:
        shape = jax.ShapeDtypeStruct((*obs.shape[:-1], self.num_actions), jnp.float32)
        chance = jax.pure_callback(self._probabilities, shape, obs, vmap_method="expand_dims")
        return jax.random.categorical(key, jnp.log(chance))

    def _probabilities(self, obs: Any) -> np.ndarray:
        model, seen = self.model(), np.asarray(obs)
        assert model is not None
        chance = action_probabilities(model, seen.reshape(-1, seen.shape[-1]))
        return chance.reshape(*seen.shape[:-1], self.num_actions)
