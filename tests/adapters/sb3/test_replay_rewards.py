"""Replay buffers store original rewards and return corrected ones, with the current phi."""

import pickle

import numpy as np
import pytest
from gymnasium import spaces
from stable_baselines3 import DQN
from stable_baselines3.common.buffers import NStepReplayBuffer, ReplayBuffer
from stable_baselines3.her.her_replay_buffer import HerReplayBuffer

from bisimulator.adapters import Corrector
from bisimulator.adapters._corrections import Corrections
from bisimulator.adapters._decisions import Acceptance, Decisions
from bisimulator.adapters.sb3 import BisimulatorCallback
from bisimulator.adapters.sb3._replay_rewards import CorrectedRewards, ReplayOutcomes, attach, detach
from bisimulator.methods.bisimulator import Config

BOX, TWO = spaces.Box(0, 1, (1,), np.float32), spaces.Discrete(2)
SMALL = Config(hidden=(4,), dynamics_steps=0, learning_rate=0.05)


def alone(corrector):
    return Corrections(corrector, None, Acceptance(TWO))


def filled(rng, kind=ReplayBuffer, **options):
    """A buffer of 10 x 2 decisions of groups 0 and 1, and its correction."""
    buffer = kind(20, BOX, TWO, device="cpu", n_envs=2, **options)
    corrector = Corrector(BOX, TWO, 2, config=SMALL, batch=8)
    rewards = attach(buffer, alone(corrector))
    for _ in range(10):
        obs, action, group = rng.random((2, 1)), rng.integers(2, size=2), rng.integers(2, size=2)
        reward = action * rng.normal(size=2)
        rewards.record(Decisions(obs, action, reward, group))
        buffer.add(obs, obs + 0.1, action, reward, np.zeros(2), [{}, {}])
        corrector.record(obs, action, reward, group)
    return buffer, corrector, rewards


def test_batches_are_corrected_with_the_current_phi(rng):
    buffer, corrector, rewards = filled(rng)
    original = rewards.original.copy()
    lookup = {float(obs): (t, e) for (t, e, _), obs in np.ndenumerate(buffer.observations)}
    seen = []
    for _ in range(3):
        batch = buffer.sample(32)
        obs, action = batch.observations.numpy(), batch.actions.numpy()
        places = tuple(np.array([lookup[float(x)] for x in obs[:, 0]]).T)
        expected = original[places] + corrector.correction(obs, action, rewards.outcomes.group[places])
        np.testing.assert_allclose(batch.rewards.numpy()[:, 0], expected, rtol=1e-5, atol=1e-6)
        seen.append(np.asarray(rewards[:, 0]))
        corrector.learn()
    assert (seen[0] == original[:, 0]).all()  # nothing was learned yet
    assert (seen[1] != seen[2]).all()
    np.testing.assert_array_equal(rewards.original, original)


def test_decisions_of_unknown_groups_keep_their_reward(rng):
    _, corrector, rewards = filled(rng)
    corrector.learn()
    rewards.outcomes.group[3, 0] = -1
    assert rewards[3, 0] == rewards.original[3, 0]
    assert rewards[3, 1] != rewards.original[3, 1]


def test_n_step_returns(rng):
    buffer, corrector, rewards = filled(rng, NStepReplayBuffer, n_steps=2, gamma=0.5)
    corrector.learn()
    np.random.seed(0)  # noqa: NPY002 - Stable-Baselines3 samples from it
    got = buffer.sample(50).rewards.numpy()
    detach(buffer)
    buffer.rewards = np.asarray(rewards[:, :])  # as if they had been stored corrected
    np.random.seed(0)  # noqa: NPY002
    np.testing.assert_allclose(got, buffer.sample(50).rewards.numpy(), rtol=1e-5, atol=1e-6)


def test_a_saved_buffer_holds_the_original_rewards(rng):
    buffer, corrector, rewards = filled(rng)
    corrector.learn()
    again = pickle.loads(pickle.dumps(rewards))  # noqa: S301 - how Stable-Baselines3 saves buffers
    assert type(again) is np.ndarray
    np.testing.assert_array_equal(again, rewards.original)
    assert rewards.nbytes == again.nbytes
    again = attach(buffer, alone(corrector), rewards.outcomes)  # as after interrupted training
    assert again.original is rewards.original
    assert again.outcomes is rewards.outcomes
    assert (
        attach(buffer, alone(corrector), ReplayOutcomes((3, 3))).outcomes.group == -1
    ).all()  # another buffer's
    detach(buffer)
    assert buffer.rewards is rewards.original


def test_a_model_trains_on_corrected_rewards_in_its_own_buffer(venv):
    seen = []

    class Watched(ReplayBuffer):
        def sample(self, *args, **kwargs):
            seen.append(type(self.rewards))
            return super().sample(*args, **kwargs)

    callback = BisimulatorCallback(batch=16, every=16, hidden=(4,), dynamics_steps=0)
    options = {"learning_starts": 16, "batch_size": 8, "buffer_size": 64, "replay_buffer_class": Watched}
    model = DQN("MlpPolicy", venv, seed=0, device="cpu", **options).learn(64, callback=callback)
    assert set(seen) == {CorrectedRewards}
    assert type(model.replay_buffer.rewards) is np.ndarray
    assert set(np.unique(model.replay_buffer.rewards)) <= {-1.0, 0.0, 1.0}


def test_buffers_that_compute_rewards_raise():
    buffer = HerReplayBuffer.__new__(HerReplayBuffer)
    with pytest.raises(ValueError, match="HerReplayBuffer, which computes rewards of its own"):
        attach(buffer, None)
