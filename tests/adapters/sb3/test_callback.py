"""The callback with unmodified solvers: which rewards they learn from, and which environments it supports."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from sb3_contrib import QRDQN, TRPO
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

from bisimulator.adapters import WithGroups
from bisimulator.adapters.sb3 import BisimulatorCallback
from tests.adapters.applicants import Applicants
from tests.matrix import some

SMALL = {"hidden": (8,), "dynamics_steps": 0, "learning_rate": 0.05}
PPO_OPTIONS = {"n_steps": 16, "batch_size": 16, "n_epochs": 1}
OFF_POLICY = {"learning_starts": 16, "batch_size": 16, "train_freq": 4, "buffer_size": 200}
SOLVERS = {
    PPO: PPO_OPTIONS,
    A2C: {"n_steps": 8},
    TRPO: {"n_steps": 16, "batch_size": 16},
    DQN: OFF_POLICY,
    QRDQN: OFF_POLICY,
}


def make(kind, venv, policy="MlpPolicy", **options):
    return kind(policy, venv, seed=0, device="cpu", **(SOLVERS[kind] | options))


class Rollouts(BaseCallback):
    """Copies each rollout as the solver sees it."""

    def __init__(self):
        super().__init__()
        self.rollouts = []

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        buffer = self.model.rollout_buffer
        names = ("observations", "actions", "rewards", "advantages", "returns", "values", "episode_starts")
        arrays = {name: getattr(buffer, name).copy() for name in names}
        self.rollouts.append(
            arrays | {"last": self.locals["values"].numpy().ravel(), "dones": self.locals["dones"]}
        )


def gae(rollout, gamma, lam):
    """Advantages by the definition: sum of (gamma lambda)^l delta."""
    values = np.vstack([rollout["values"], rollout["last"][None]])
    not_ended = 1.0 - np.vstack([rollout["episode_starts"][1:], rollout["dones"][None]])
    delta = rollout["rewards"] + gamma * not_ended * values[1:] - values[:-1]
    out, carry = np.zeros_like(delta), 0.0
    for t in reversed(range(len(delta))):
        out[t] = carry = delta[t] + gamma * lam * not_ended[t] * carry
    return out


@pytest.mark.parametrize("kind", SOLVERS)
def test_every_solver_trains_with_the_callback(kind, venv):
    model, callback = make(kind, VecMonitor(venv)), BisimulatorCallback(batch=64, every=32, **SMALL)
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(192, callback=callback)
    assert callback.corrector.updates >= 5  # every 32 decisions, from the 64th on
    assert abs(callback.corrector.state.phi.biases[-1]).max() > 0
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters(), strict=True))
    assert callback.corrector.config.alpha == (1.5 if kind in (DQN, QRDQN) else 5.0)


def test_rollouts_are_corrected_with_the_new_phi_before_advantages(venv):
    plain, fair = Rollouts(), Rollouts()
    make(PPO, venv).learn(64, callback=plain)
    model, callback = make(PPO, venv), BisimulatorCallback(batch=64, every=64, **SMALL)
    model.learn(64, callback=[callback, fair])
    corrected, original = fair.rollouts[0], plain.rollouts[0]
    np.testing.assert_array_equal(corrected["observations"], original["observations"])
    obs = corrected["observations"].reshape(64, -1)
    correction = callback.corrector.correction(obs, corrected["actions"].reshape(64), obs[:, 1:3].argmax(1))
    assert abs(correction).max() > 0.01
    np.testing.assert_allclose(
        corrected["rewards"], original["rewards"] + correction.reshape(16, 4), rtol=1e-5
    )
    np.testing.assert_allclose(original["advantages"], gae(original, 0.99, 0.95), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(corrected["advantages"], gae(corrected, 0.99, 0.95), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(corrected["returns"], corrected["advantages"] + corrected["values"], rtol=1e-5)


def test_with_alpha_0_nothing_changes(venv):
    """The callback does not touch the solver's random numbers or data."""
    plain = make(PPO, venv).learn(128)
    fair = make(PPO, venv).learn(128, callback=BisimulatorCallback(alpha=0.0, batch=64, every=64, **SMALL))
    for a, b in zip(plain.policy.parameters(), fair.policy.parameters(), strict=True):
        np.testing.assert_array_equal(a.detach(), b.detach())


def test_it_learns_from_the_environments_own_rewards(venv):
    """At a truncation Stable-Baselines3 adds a value to the reward; the correction must not learn from that."""
    model, callback = make(PPO, venv, n_steps=32), BisimulatorCallback(batch=128, **SMALL)
    model.learn(128, callback=callback)  # longer than an episode of 30 steps
    assert set(np.unique(callback.corrector._recent.reward)) <= {-1.0, 0.0, 1.0}


def test_normalised_environments(venv):
    """phi learns from original observations and rewards; its correction is normalised like the rewards."""
    normalised, fair = VecNormalize(venv, clip_reward=1e9), Rollouts()
    model, callback = make(PPO, normalised), BisimulatorCallback(batch=64, every=64, **SMALL)
    model.learn(64, callback=[callback, fair])
    corrector = callback.corrector
    assert 0 <= corrector._recent.rows.min() <= corrector._recent.rows.max() <= 1
    assert set(np.unique(corrector._recent.reward)) <= {-1.0, 0.0, 1.0}
    plain, again = (
        Rollouts(),
        VecNormalize(type(venv)("lending", 4, population=20, horizon=30), clip_reward=1e9),
    )
    make(PPO, again).learn(64, callback=plain)
    correction = (fair.rollouts[0]["rewards"] - plain.rollouts[0]["rewards"]).reshape(-1)
    obs = corrector._recent.rows  # exactly this rollout, in time order
    expected = corrector.correction(obs, corrector._recent.action, corrector._recent.group)
    np.testing.assert_allclose(correction * np.sqrt(again.ret_rms.var + 1e-8), expected, rtol=1e-3, atol=1e-5)


class Nested(gymnasium.Wrapper):
    """Applicants with dict observations and two decisions at once."""

    def __init__(self):
        super().__init__(Applicants(horizon=20))
        free = spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.observation_space = spaces.Dict({"score": spaces.Box(-9, 9, (1,), np.float32), "rest": free})
        self.action_space = spaces.MultiDiscrete([2, 3])

    def nest(self, obs):
        return {"score": obs[:1].clip(-9, 9), "rest": obs[1:]}

    def reset(self, **options):
        obs, info = self.env.reset(**options)
        return self.nest(obs), info

    def step(self, action):
        obs, *rest, info = self.env.step(int(action[0]))
        return self.nest(obs), *rest, {"group": info["group"]}


@pytest.mark.parametrize("kind", [PPO, A2C])
def test_dict_observations_and_several_decisions_at_once(kind):
    callback = BisimulatorCallback(batch=32, every=32, score="score", **SMALL)
    make(kind, DummyVecEnv([Nested] * 2), "MultiInputPolicy").learn(64, callback=callback)
    assert callback.corrector.updates > 0
    assert callback.corrector.encoding.num_actions == 6


def test_dict_observations_in_a_replay_buffer():
    class OneDecision(Nested):
        def __init__(self):
            super().__init__()
            self.action_space = spaces.Discrete(2)

        def step(self, action):
            return super().step([action])

    callback = BisimulatorCallback(batch=32, score="score", every=16, **SMALL)
    make(DQN, DummyVecEnv([OneDecision] * 2), "MultiInputPolicy").learn(96, callback=callback)
    assert callback.corrector.updates > 0


def test_continued_training_keeps_the_correction(venv):
    model, callback = make(DQN, venv), BisimulatorCallback(batch=32, every=16, **SMALL)
    model.learn(96, callback=callback)
    corrector, updates, group = callback.corrector, callback.corrector.updates, callback.replay_outcomes.group
    assert (group[:24] >= 0).all()  # 24 steps of 4 environments
    assert (group[24:] == -1).all()
    model.learn(96, callback=callback, reset_num_timesteps=False)
    assert callback.corrector is corrector
    assert corrector.updates > updates
    assert callback.replay_outcomes.group is group  # also of earlier decisions
    assert (group[:48] >= 0).all()


@pytest.mark.parametrize(
    ("kind", "steps"), some([(PPO, 16), (PPO, 64), (A2C, 8), (DQN, None)], [(PPO, 64), (DQN, None)])
)
def test_how_often_it_learns_does_not_depend_on_the_length_of_rollouts(kind, steps, venv):
    """Once per 64 decisions, so four times after a rollout of 256 decisions."""
    options = {} if steps is None else {"n_steps": steps}
    callback = BisimulatorCallback(every=64, batch=64, **SMALL)
    make(kind, venv, **options).learn(512, callback=callback)
    assert callback.corrector.updates == 8


def test_wrong_options_and_unsupported_environments(venv):
    with pytest.raises(TypeError, match=r"no parameter 'alhpa'\. Did you mean 'alpha'"):
        BisimulatorCallback(alhpa=1)
    with pytest.raises(ValueError, match=r"Unknown gauge 'none'\. Known: centred"):
        BisimulatorCallback(gauge="none")
    without = DummyVecEnv([lambda: gymnasium.make("CartPole-v1")])
    with pytest.raises(ValueError, match="does not say how many groups"):
        make(A2C, without).learn(16, callback=BisimulatorCallback())
    with pytest.raises(ValueError, match=r"info has no 'group'.*WithGroups"):
        make(A2C, without).learn(16, callback=BisimulatorCallback(num_groups=2))
    pendulum = WithGroups(gymnasium.make("Pendulum-v1"), group=lambda obs: 0, num_groups=2)
    with pytest.raises(ValueError, match="continuous decisions"):
        SAC("MlpPolicy", pendulum, device="cpu").learn(16, callback=BisimulatorCallback())


def test_it_shows_its_options():
    assert repr(BisimulatorCallback(every=64, alpha=2.0)) == "BisimulatorCallback(every=64, alpha=2.0)"
