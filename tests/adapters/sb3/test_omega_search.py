"""omega with Stable-Baselines3's policies: compiled for the library's environments, step by step for others."""

import gymnasium
import jax
import numpy as np
import pytest
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

import bisimulator
from bisimulator.adapters import WithGroups
from bisimulator.adapters.sb3 import BisimulatorCallback, BisimulatorVecEnv, _omega_search, as_policy
from bisimulator.adapters.sb3._omega_search import own_env
from bisimulator.adapters.sb3.model_policy import StretchedInputs, action_probabilities
from tests.adapters.applicants import Applicants
from tests.adapters.test_group_info import Counter

OPTIONS = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "seed": 0, "device": "cpu"}
SMALL = {
    "hidden": (4,),
    "psi_hidden": (4,),
    "dynamics_steps": 3,
    "dynamics_at": (0.5,),
    "psi_first_steps": 2,
    "psi_steps": 1,
    "psi_minibatch": 8,
    "compared": 20,
}


@pytest.mark.long
def test_the_librarys_environments(venv):
    model, callback = (
        PPO("MlpPolicy", VecMonitor(venv), **OPTIONS),
        BisimulatorCallback(batch=64, every=64, **SMALL),
    )
    with pytest.raises(ValueError, match="leave score out"):
        model.learn(
            64, callback=BisimulatorCallback(batch=64, every=64, score=lambda obs: obs[:, 0], **SMALL)
        )
    model.learn(128, callback=callback)
    omega = venv.get_attr("observation_params")[0]
    np.testing.assert_array_equal(omega, callback.corrector.omega)
    assert (omega != 1).any()
    assert 0 <= omega.min() <= omega.max() <= 2
    assert callback.corrector.describe()["j_dyn"] > 0


def test_candidates_are_tried_in_the_queue_also_if_a_model_is_trained_on_lives(monkeypatch):
    """One life would be too little data for J_dyn."""
    tried = []

    def adapt(method, key, state, act, scenario, params, horizon):
        tried.append((scenario, params.population, horizon))
        return state

    monkeypatch.setattr(_omega_search, "_adapt", adapt)
    venv = BisimulatorVecEnv("lending", 4, view="life", population=20, horizon=60)
    model = PPO("MlpPolicy", venv, **OPTIONS)
    model.learn(64, callback=BisimulatorCallback(batch=64, every=64, **SMALL))
    assert tried == [(bisimulator.make("lending").scenario, 20, 60)]


def test_other_environments_need_a_dynamics_env():
    venv = DummyVecEnv([lambda: Applicants(horizon=20)] * 4)
    model = PPO("MlpPolicy", venv, **OPTIONS)
    with pytest.raises(ValueError, match="pass dynamics_env=lambda: MyEnv"):
        model.learn(64, callback=BisimulatorCallback(batch=64, every=64, **SMALL))
    assert model.num_timesteps == 0  # raised before training started
    callback = BisimulatorCallback(batch=64, every=64, dynamics_env=lambda: Applicants(horizon=20), **SMALL)
    model.learn(64, callback=callback)
    for omega in venv.get_attr("observation_params"):
        np.testing.assert_array_equal(omega, callback.corrector.omega)


def test_environments_without_observation_parameters_have_no_omega():
    def make():
        return WithGroups(Counter(), group=lambda obs: int(obs[0]) % 2, num_groups=2)

    callback = BisimulatorCallback(batch=64, every=64, **SMALL)
    PPO("MlpPolicy", DummyVecEnv([make] * 4), **OPTIONS).learn(64, callback=callback)
    assert callback.corrector.omega.size == 0


def test_own_env_is_the_one_whose_observations_nothing_changes(venv):
    assert own_env(VecMonitor(VecNormalize(venv))) is venv
    assert own_env(VecFrameStack(venv, 2)) is None
    assert own_env(DummyVecEnv([Applicants])) is None


def test_policies_of_models(venv):
    """As a function for `evaluate`, and as probabilities for the search."""
    stretched = {"features_extractor_class": StretchedInputs, "features_extractor_kwargs": {"scale": 3.0}}
    for kind, options in ((PPO, OPTIONS), (DQN, {"seed": 0, "device": "cpu"})):
        model = kind("MlpPolicy", venv, policy_kwargs=stretched, **options)
        obs = np.random.default_rng(0).random((6, 5)).astype(np.float32)
        probabilities = action_probabilities(model, obs)
        np.testing.assert_allclose(probabilities.sum(1), 1, rtol=1e-5)
        np.testing.assert_array_equal(probabilities.argmax(1), as_policy(model)(obs))
        features = model.policy.features_extractor or model.policy.q_net.features_extractor
        assert repr(features) == "StretchedInputs(scale=3)"
        np.testing.assert_allclose(features(model.policy.obs_to_tensor(obs)[0]), 3 * obs, rtol=1e-6)
    env = bisimulator.make("lending", population=20, horizon=30)
    result = bisimulator.evaluate(env, as_policy(model), episodes=1, seeds=1)
    assert jax.tree.leaves(result.outcome)
    with pytest.raises(ValueError, match="observation_space must be a Box"):
        StretchedInputs(gymnasium.spaces.Discrete(3))
