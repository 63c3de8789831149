"""The purpose: groups are treated more alike than by the plain solver, in an environment outside the library."""

import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from bisimulator.adapters.sb3 import BisimulatorCallback, as_policy
from tests.adapters.applicants import Applicants, gap, group_rates


def gaps(callback, steps, seed, **options):
    """Of approval rates and of returns, after training on short episodes."""
    venv = DummyVecEnv([lambda: Applicants(horizon=150)] * 8)
    model = PPO("MlpPolicy", venv, seed=seed, device="cpu", n_epochs=5, **options)
    return tuple(map(gap, group_rates(as_policy(model.learn(steps, callback=callback)))))


def assert_halved(plain, fair):
    assert min(plain) > 0.4  # there are gaps to reduce
    assert fair[0] <= plain[0] / 2
    assert fair[1] <= plain[1] / 2


def test_gaps_of_approval_and_return_are_halved():
    options = {"n_steps": 32, "batch_size": 128, "learning_rate": 3e-3}
    callback = BisimulatorCallback(dynamics_steps=0, learning_rate=3e-3)
    assert_halved(gaps(None, 6144, 0, **options), gaps(callback, 6144, 0, **options))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_gaps_are_halved_with_the_callbacks_defaults(seed):
    options = {"n_steps": 64, "batch_size": 128, "learning_rate": 1e-3}
    callback = BisimulatorCallback(dynamics_steps=0)
    assert_halved(gaps(None, 15_360, seed, **options), gaps(callback, 15_360, seed, **options))
