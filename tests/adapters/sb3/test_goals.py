"""Goals with unmodified solvers: which decisions are measured, what is paid, and what is logged and saved."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium import spaces
from sb3_contrib import QRDQN, TRPO
from stable_baselines3 import A2C, DQN, PPO, SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

from bisimulator.adapters import GoalCorrector
from bisimulator.adapters.sb3 import BisimulatorCallback, load, save
from tests.adapters.loans import Loans, kinds

GOAL = "approval-gap=0"
OFF_POLICY = {"learning_starts": 16, "batch_size": 16, "train_freq": 4, "buffer_size": 400}
SOLVERS = {
    PPO: {"n_steps": 16, "batch_size": 16, "n_epochs": 1},
    A2C: {"n_steps": 8},
    TRPO: {"n_steps": 16, "batch_size": 16},
    DQN: OFF_POLICY,
    QRDQN: OFF_POLICY,
}


def make(kind, env=Loans, **options):
    return kind("MlpPolicy", DummyVecEnv([env] * 4), seed=0, device="cpu", **(SOLVERS[kind] | options))


class Continuous(gymnasium.Wrapper):
    """How much is lent is continuous; people need different amounts."""

    def __init__(self):
        super().__init__(Loans())
        self.action_space = spaces.Box(0, 1, (1,), np.float32)

    def step(self, action):
        obs, reward, ended, truncated, info = self.env.step(int(action[0] > 0.5))
        info |= {"accepted": float(action[0]), "qualified": 0.5}
        return obs, reward, ended, truncated, info


class SeveralDecisions(gymnasium.Wrapper):
    """A loan, and whether to offer advice."""

    def __init__(self):
        super().__init__(Loans())
        self.action_space = spaces.MultiDiscrete([3, 2])

    def step(self, action):
        return self.env.step(int(action[0]))


class Rewards(BaseCallback):
    """Copies what the solver learns from, and the decisions."""

    def __init__(self):
        super().__init__()
        self.rewards, self.decisions = [], []

    def _on_step(self):
        group = [info["group"] for info in self.locals["infos"]]
        self.decisions.append((self.locals["rewards"].copy(), np.array(group), self.locals["actions"] > 0))
        return True

    def _on_rollout_end(self):
        self.rewards.append(self.model.rollout_buffer.rewards.copy())


@pytest.mark.parametrize("kind", SOLVERS)
def test_every_solver_pursues_a_goal(kind):
    model, callback = make(kind), BisimulatorCallback(goal="min-return=9", every=16)  # never met
    before = [p.detach().clone() for p in model.policy.parameters()]
    model.learn(128, callback=callback)
    assert callback.corrector is None  # the goal's correction is the only one
    described = callback.goal_corrector.describe()
    assert described["multiplier/min-return_0"] > 0.3
    assert any((a != b).any() for a, b in zip(before, model.policy.parameters(), strict=True))


def test_rollouts_are_measured_and_then_corrected():
    model, watch = make(PPO), Rewards()
    model.learn(128, callback=[BisimulatorCallback(goal=GOAL), watch])
    same = GoalCorrector(GOAL, 4)
    for rollout, got in enumerate(watch.rewards):
        reward, group, accepted = map(np.concatenate, zip(*watch.decisions[16 * rollout :][:16], strict=True))
        same.record(reward, group, accepted)
        same.learn()
        expected = reward + same.correction(reward, group, accepted)
        assert abs(expected - reward).max() > 0.1
        np.testing.assert_allclose(got.reshape(-1), expected, rtol=1e-4, atol=1e-5)


def test_the_environments_own_rewards_are_measured():
    """Whatever a VecNormalize makes of them; the correction is scaled as they are."""
    plain, scaled = Rewards(), Rewards()
    make(PPO).learn(64, callback=[BisimulatorCallback(goal="return-gap=0"), plain])
    venv = VecNormalize(VecMonitor(DummyVecEnv([Loans] * 4)), norm_obs=False, clip_reward=1e9)
    model = PPO("MlpPolicy", venv, seed=0, device="cpu", **SOLVERS[PPO])
    model.learn(64, callback=[BisimulatorCallback(goal="return-gap=0"), scaled])
    correction, again = (
        watch.rewards[0] - np.stack([reward for reward, _, _ in watch.decisions]) for watch in (plain, scaled)
    )
    assert abs(correction).max() > 0.1
    np.testing.assert_allclose(
        again * np.sqrt(venv.ret_rms.var + venv.epsilon), correction, rtol=1e-3, atol=1e-5
    )


def test_decisions_that_only_explore_are_not_measured():
    """A network that always accepts is measured as that, though nearly all its actions are random."""
    model = make(DQN, exploration_initial_eps=1.0, exploration_final_eps=1.0, learning_rate=0.0)
    with torch.no_grad():
        last = model.q_net.q_net[-1]
        last.weight.zero_()
        last.bias.copy_(torch.tensor([0.0, 0.0, 1.0]))
    callback = BisimulatorCallback(goal=GOAL, every=16)
    model.learn(400, callback=callback)
    corrector = callback.goal_corrector
    assert {corrector.describe()[f"approval_{g}"] for g in range(4)} == {1.0}
    assert 80 < corrector.recorded < 180  # a third of the decisions, without those before learning starts
    assert (callback.replay_outcomes.accepted[:100] == 0).any()  # but everything is stored


def test_a_replay_buffer_pays_current_multipliers():
    model, callback = make(DQN), BisimulatorCallback(goal=GOAL, every=16)
    model.learn(160, callback=callback)
    outcomes, corrector, buffer = callback.replay_outcomes, callback.goal_corrector, model.replay_buffer
    reward = buffer.rewards[:40].copy()  # original: the training is over
    callback._on_training_start()
    corrected = buffer.rewards[:40]
    expected = corrector.correction(
        reward.ravel(), outcomes.group[:40].ravel(), outcomes.accepted[:40].ravel()
    )
    np.testing.assert_allclose(corrected, reward + expected.reshape(40, 4), rtol=1e-5, atol=1e-6)
    assert abs(expected).max() > 0.1
    callback._on_training_end()
    np.testing.assert_array_equal(buffer.rewards[:40], reward)


def test_several_decisions_at_once():
    callback = BisimulatorCallback(goal=GOAL, accepted=lambda actions: actions[:, 0] > 0)
    make(PPO, SeveralDecisions).learn(64, callback=callback)
    loans = callback.goal_corrector.describe()["approval_0"]
    callback = BisimulatorCallback(goal=GOAL)  # a loan or advice
    make(PPO, SeveralDecisions).learn(64, callback=callback)
    assert 0 < loans < callback.goal_corrector.describe()["approval_0"] < 1


def test_several_kinds_of_acceptance():
    callback = BisimulatorCallback(goal=GOAL, accepted=kinds)
    make(PPO).learn(128, callback=callback)
    described = callback.goal_corrector.describe()
    assert 0 < described["kind_1/approval_0"] < described["kind_0/approval_0"]
    make(DQN).learn(64, callback=(again := BisimulatorCallback(goal=GOAL, accepted=kinds)))
    assert again.replay_outcomes.accepted.shape == (100, 4, 2)


@pytest.mark.parametrize("goal", ["return-gap=0", "benefit-gap=0", "approval-gap=0"])
@pytest.mark.parametrize("kind", [PPO, SAC])
def test_continuous_actions(goal, kind):
    options = SOLVERS[PPO] if kind is PPO else {"learning_starts": 16, "batch_size": 16}
    model = kind("MlpPolicy", DummyVecEnv([Continuous] * 4), seed=0, device="cpu", **options)
    callback = BisimulatorCallback(goal=goal, every=16)
    model.learn(64, callback=callback)
    assert any(
        value > 0 for name, value in callback.goal_corrector.describe().items() if "multiplier" in name
    )


def test_continuous_actions_accept_only_if_somebody_says_so():
    class Silent(Continuous):
        def step(self, action):
            *rest, info = super().step(action)
            return *rest, {"group": info["group"]}

    with pytest.raises(ValueError, match=r"approval-gap=0 needs info\['accepted'\]"):
        make(PPO, Silent).learn(64, callback=BisimulatorCallback(goal=GOAL))
    make(PPO, Silent).learn(64, callback=BisimulatorCallback(goal="return-gap=0"))


def test_a_goal_on_top_of_the_bisimulator():
    options = {"alpha": 2.0, "hidden": (8,), "dynamics_steps": 0}  # the search for omega knows of no goal
    callback = BisimulatorCallback(goal=GOAL, batch=64, every=64, **options)
    make(PPO).learn(128, callback=callback)
    assert callback.corrector.updates == 2
    assert callback.corrector.config.gauge == "centred"  # only the goal says how much is accepted
    assert callback.goal_corrector.recorded == 128


@pytest.mark.parametrize("goal", [GOAL, None])
def test_rates_are_logged(goal):
    options = {} if goal else {"hidden": (8,)}
    model = make(PPO)
    model.learn(64, callback=BisimulatorCallback(goal=goal, every=64, **options), log_interval=100)
    logged = model.logger.name_to_value
    for name in ("approval", "return"):
        assert {f"bisimulator/{name}_{what}" for what in (0, 1, "gap")} <= set(logged)
    assert ("bisimulator/multiplier/approval-gap_0" in logged) == bool(goal)


@pytest.mark.parametrize("kind", [PPO, DQN])
def test_what_was_saved_is_loaded(kind, tmp_path):
    model = make(kind)
    callback = BisimulatorCallback(goal=GOAL, control={"eta": 0.2}, accepted=kinds, every=16)
    model.learn(128, callback=callback)
    save(tmp_path / "loans", model, callback)
    venv = DummyVecEnv([Loans] * 4)
    again, loaded = load(tmp_path / "loans", kind, venv, accepted=kinds, device="cpu")
    assert loaded.goal_corrector.controller == callback.goal_corrector.controller
    assert loaded.goal_corrector.describe() == callback.goal_corrector.describe()
    assert loaded.corrector is None
    if kind is DQN:
        np.testing.assert_array_equal(loaded.replay_outcomes.accepted, callback.replay_outcomes.accepted)
    again.learn(64, callback=loaded, reset_num_timesteps=False)
    assert loaded.goal_corrector.recorded > callback.goal_corrector.recorded


def test_wrong_options_raise_before_training():
    with pytest.raises(ValueError, match=r"Unknown goal 'aproval-gap'\. Did you mean 'approval-gap'"):
        BisimulatorCallback(goal="aproval-gap=0.1")
    with pytest.raises(TypeError, match=r"no parameter 'etta'"):
        BisimulatorCallback(goal=GOAL, control={"etta": 1})
    with pytest.raises(ValueError, match="control is for goals"):
        BisimulatorCallback(control={"eta": 1})
    assert repr(BisimulatorCallback(goal=GOAL)) == "BisimulatorCallback(goal='approval-gap=0')"
