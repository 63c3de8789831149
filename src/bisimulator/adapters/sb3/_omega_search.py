"""Learns the observation parameters omega for a Stable-Baselines3 model, by trying candidates on whole episodes."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import gymnasium
import jax
import numpy as np
from jaxtyping import Array, Key, PyTree
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv, VecMonitor, VecNormalize

from bisimulator.adapters import omega_search
from bisimulator.adapters._pytrees import add_batch_axis
from bisimulator.adapters.corrector import Corrector
from bisimulator.adapters.sb3.model_policy import ModelAct, normaliser
from bisimulator.adapters.sb3.vec_env import BisimulatorVecEnv
from bisimulator.core import Params, Scenario, make
from bisimulator.methods.bisimulator import Bisimulator, State, build

MakeEnv: TypeAlias = Callable[[], gymnasium.Env[Any, Any]]


def improve_omega(corrector: Corrector, model: BaseAlgorithm, make_env: MakeEnv | None) -> None:
    """In one compiled program for the library's own environments, else step by step in an environment of the user's."""
    if make_env is None:
        venv = own_env(model.get_env())
        assert venv is not None
        _improve_compiled(corrector, model, venv)
        return
    env, normalise = make_env(), normaliser(model)

    def act(observation: PyTree[np.ndarray]) -> NDArray[np.generic]:
        action: NDArray[np.generic] = model.predict(
            normalise(add_batch_axis(observation)), deterministic=False
        )[0][0]
        return action

    try:
        omega_search.improve_omega(corrector, env, act)
    finally:
        env.close()


def check_can_improve(corrector: Corrector, model: BaseAlgorithm, make_env: MakeEnv | None) -> None:
    """Raise before training starts if omega cannot be learned, not when it is due."""
    if make_env is not None:
        return
    venv = own_env(model.get_env())
    if venv is None:
        raise ValueError(
            "dynamics_env is needed to learn this environment's observation parameters, because trying candidates in "
            "the training environment would disturb the training, got None; "
            "pass dynamics_env=lambda: MyEnv(), or dynamics_steps=0 to learn the reward correction alone"
        )
    if corrector.encoding.size != venv.envs.env.observation_size:
        raise ValueError(
            "score must be left out when omega of this environment is learned, because that uses the environment's own "
            "observed score; leave score out, or pass dynamics_steps=0"
        )


def own_env(venv: VecEnv | None) -> BisimulatorVecEnv | None:
    """The `BisimulatorVecEnv` inside, if nothing but a VecNormalize changes its observations."""
    while isinstance(venv, VecMonitor | VecNormalize):
        venv = venv.venv
    return venv if isinstance(venv, BisimulatorVecEnv) else None


def _improve_compiled(corrector: Corrector, model: BaseAlgorithm, venv: BisimulatorVecEnv) -> None:
    trained_on = venv.envs.env
    # a candidate is evaluated on all people, also in training on lives
    env = make(trained_on.name, **trained_on.settings)
    corrector.state = _adapt(
        build(corrector.config, env),
        corrector.next_key(),
        corrector.state,
        ModelAct(weakref.ref(model), env.num_actions),
        env.scenario,
        env.params,
        env.horizon,
    )


@partial(jax.jit, static_argnums=(0, 3, 4, 6))
def _adapt(
    method: Bisimulator,
    key: Key[Array, ""],
    state: State,
    act: ModelAct,
    scenario: Scenario,
    params: Params,
    horizon: int,
) -> State:
    return method.adapt(key, state, act, scenario, params, horizon)
