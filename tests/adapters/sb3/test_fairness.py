"""The purpose: groups are treated more alike than by the plain solver, in environments outside the library."""

import numpy as np
import pytest
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

import bisimulator
from benchmarks.sb3_goals import train_loans
from bisimulator.adapters.sb3 import BisimulatorCallback, as_policy
from tests.adapters.applicants import Applicants, gap, group_rates
from tests.adapters.loans import Loans, kinds


def gaps(callback, steps, seed, **options):
    """Of approval rates and of returns, after training on short episodes."""
    venv = DummyVecEnv([lambda: Applicants(horizon=150)] * 8)
    model = PPO("MlpPolicy", venv, seed=seed, device="cpu", n_epochs=5, **options)
    return tuple(map(gap, group_rates(as_policy(model.learn(steps, callback=callback)))))


def assert_halved(plain, fair):
    assert min(plain) > 0.4  # there are gaps to reduce
    assert fair[0] <= plain[0] / 2
    assert fair[1] <= plain[1] / 2


@pytest.mark.long
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


@pytest.mark.long
def test_a_goal_is_approached_in_an_environment_with_three_actions():
    """A tenth of the training that it takes to meet it."""

    def gaps(goal):
        options = {"n_steps": 32, "batch_size": 256, "n_epochs": 5, "gamma": 1.0, "learning_rate": 2e-3}
        model = PPO("MlpPolicy", DummyVecEnv([Loans] * 64), seed=0, device="cpu", **options)
        model.learn(20_480, callback=BisimulatorCallback(goal=goal) if goal else None)
        return bisimulator.group_metrics(Loans(), model, episodes=500, accepted=kinds).gaps["approval"]

    plain, fair = gaps(None), gaps("approval-gap=0.05")
    assert plain.low > 0.3
    assert fair.estimate < plain.estimate / 2


@pytest.mark.long
def test_a_goal_is_met_in_an_environment_with_three_actions():
    """Groups get loans alike, at nearly no loss, and large loans at least as much alike as before."""
    plain, fair = ([train_loans(seed, goal) for seed in range(5)] for goal in (None, "approval-gap=0.05"))

    def mean(runs, name):
        return np.mean([run[name] for run in runs])

    assert mean(plain, "approval_gap") > 0.4
    assert mean(fair, "approval_gap") <= 0.06
    assert mean(fair, "return") >= 0.97 * mean(plain, "return")
    assert mean(fair, "best_action_gap") <= mean(plain, "best_action_gap")
