"""Models of Stable-Baselines3 as policies: sampled and greedy, simulated and exact."""

import numpy as np
import pytest
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

import bisimulator
from bisimulator.adapters.sb3 import BisimulatorVecEnv, as_policy
from bisimulator.adapters.sb3.model_policy import as_trained
from bisimulator.evaluation import exact_evaluation
from tests.adapters.loans import Loans

ENV = bisimulator.make("lending", population=20, horizon=60)
OBS = np.random.default_rng(0).random((500, ENV.observation_size)).astype(np.float32)


@pytest.fixture(scope="module")
def ppo():
    return PPO("MlpPolicy", BisimulatorVecEnv("lending", 2), seed=0, device="cpu", n_steps=16, batch_size=32)


def test_a_sampled_model_accepts_with_its_probability(ppo):
    policy = as_policy(ppo, deterministic=False)
    chance = np.asarray(policy.accept_probability(ENV, OBS))
    assert ((chance > 0.3) & (chance < 0.7)).all()  # an untrained network
    assert np.mean([policy(OBS).mean() for _ in range(20)]) == pytest.approx(chance.mean(), abs=0.02)
    greedy = as_policy(ppo)
    np.testing.assert_array_equal(greedy.accept_probability(ENV, OBS), greedy(OBS))
    np.testing.assert_array_equal(greedy(OBS), chance > 0.5)


def test_simulated_values_agree_with_exact_ones(ppo):
    policy = as_policy(ppo, deterministic=False)
    exact = exact_evaluation(ENV, policy)
    mean, half = bisimulator.evaluate(ENV, policy, seeds=20).summary["recall_g2"]
    assert exact.recall[1] == pytest.approx(mean, abs=2 * half)
    again = bisimulator.evaluate(ENV, policy, seeds=20).summary["recall_g2"]
    assert again == (mean, half)  # random numbers come from the seeds


def test_a_model_as_it_was_trained(ppo):
    """PPO samples; DQN does its best, though it would explore in training."""
    assert len(np.unique([as_trained(ppo)(OBS[:50]) for _ in range(5)], axis=0)) == 5
    dqn = DQN("MlpPolicy", DummyVecEnv([Loans]), seed=0, device="cpu", buffer_size=10)
    dqn.exploration_rate = 1.0
    obs = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    np.testing.assert_array_equal(as_trained(dqn)(obs), dqn.predict(obs, deterministic=True)[0])


def test_group_metrics_of_models_in_any_environment():
    venv = VecNormalize(DummyVecEnv([Loans] * 2))
    model = PPO("MlpPolicy", venv, seed=0, device="cpu", n_steps=16, batch_size=16).learn(64)
    metrics = bisimulator.group_metrics(Loans(), model, episodes=30)
    assert 0 < metrics.approval[0].estimate < 1
    assert metrics.decisions.sum() == 240
    greedy = bisimulator.group_metrics(Loans(), as_policy(model), episodes=30)
    assert greedy.approval[0].estimate != metrics.approval[0].estimate
