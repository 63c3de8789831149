"""The wrappers: r + alpha * R_phi for any spaces and autoreset mode, and every decision recorded once."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from bisimulator.adapters import (
    BisimulatorRewardWrapper,
    BisimulatorVectorRewardWrapper,
    Corrector,
    GoalCorrector,
    WithGroups,
)
from bisimulator.adapters._decisions import read_vector_info
from bisimulator.adapters.gymnasium.vector_env import BisimulatorVectorEnv
from tests.adapters.applicants import Applicants

OPTIONS = {"batch": 16, "hidden": (4,), "learning_rate": 0.05}


def test_a_single_environment():
    env, plain = BisimulatorRewardWrapper(Applicants(), **OPTIONS), Applicants()
    obs, _ = env.reset(seed=0)
    plain.reset(seed=0)
    corrected = 0
    for t in range(100):
        action = t % 2
        before = obs
        obs, reward, _, _, info = env.step(action)
        original = plain.step(action)[1]
        assert info["original_reward"] == original
        correction = env.corrector.correction(before[None], [action], [info["group"]])[0]
        assert reward == pytest.approx(original + correction)
        corrected += correction != 0
        if t % 16 == 15:
            env.corrector.learn()
    assert corrected == 84
    assert env.corrector.recorded == 100


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("compiled", [True, False])
def test_vector_environments_record_each_decision_once(mode, compiled):
    if compiled:
        inner = BisimulatorVectorEnv("lending", 3, population=9, horizon=7, autoreset_mode=mode)
    else:
        inner = SyncVectorEnv([lambda: Applicants(horizon=7)] * 3, autoreset_mode=mode)
    envs = BisimulatorVectorRewardWrapper(inner, **OPTIONS)
    obs, _ = envs.reset(seed=0)
    decisions = 0
    for _ in range(20):
        before = obs.copy()
        actions = envs.action_space.sample()
        obs, rewards, terminated, truncated, info = envs.step(actions)
        present = info["_original_reward"]
        decisions += int(present.sum())
        correction = rewards - info["original_reward"]
        assert not correction[~present].any()
        if envs.corrector.updates and present.all() and "group" in info and info["_group"].all():
            np.testing.assert_allclose(
                correction, envs.corrector.correction(before, actions, info["group"]), atol=1e-6
            )
        envs.corrector.learn()
        if mode is AutoresetMode.DISABLED and truncated.any():
            obs, _ = envs.reset(options={"reset_mask": terminated | truncated})
    assert envs.corrector.recorded == decisions
    assert decisions == (54 if mode is AutoresetMode.NEXT_STEP else 60)
    assert envs.corrector.updates > 0


class Nested(gymnasium.Wrapper):
    """Dict observations and two decisions at once."""

    def __init__(self):
        super().__init__(Applicants(horizon=30))
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


def test_dict_observations_and_several_decisions_at_once():
    one = BisimulatorRewardWrapper(Nested(), score="score", **OPTIONS)
    many = BisimulatorVectorRewardWrapper(SyncVectorEnv([Nested] * 2), score="score", **OPTIONS)
    for env in (one, many):
        env.reset(seed=0)
        for _ in range(20):
            env.step(env.action_space.sample())
        assert env.corrector.learn()
        assert env.corrector.encoding.num_actions == 6
        rewards = env.step(env.action_space.sample())[1]
        assert np.all(rewards != np.round(rewards))


def test_a_correction_can_be_shared():
    shared = Corrector.from_env(Applicants(), **OPTIONS)
    envs = [BisimulatorRewardWrapper(Applicants(), shared) for _ in range(2)]
    for env in envs:
        env.reset(seed=0)
        env.step(1)
    assert shared.recorded == 2


def test_environments_without_groups_or_with_continuous_actions():
    plain = gymnasium.make("CartPole-v1")
    with pytest.raises(ValueError, match="does not say how many groups"):
        BisimulatorRewardWrapper(plain)
    env = BisimulatorRewardWrapper(plain, num_groups=2)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"info has no 'group'.*WithGroups"):
        env.step(0)
    envs = BisimulatorVectorRewardWrapper(
        SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")]), num_groups=2
    )
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="info has no 'group'"):
        envs.step(np.zeros(1, int))
    pendulum = WithGroups(gymnasium.make("Pendulum-v1"), group=lambda obs: 0, num_groups=2)
    with pytest.raises(ValueError, match="continuous decisions are never the same"):
        BisimulatorRewardWrapper(pendulum)


def test_a_goal_alone():
    """The wrapper pays what the goal pays, and measures every decision."""
    env, same = (
        BisimulatorRewardWrapper(Applicants(), goal="approval-gap=0"),
        GoalCorrector("approval-gap=0", 3),
    )
    env.reset(seed=0)
    for t in range(60):
        action = int(t % 3 == 0)
        _, reward, _, _, info = env.step(action)
        decision = ([info["original_reward"]], [info["group"]], [action])
        assert reward == pytest.approx(info["original_reward"] + same.correction(*decision)[0], abs=1e-5)
        same.record(*decision)
        if t % 20 == 19:
            assert env.learn()
            same.learn()
    assert abs(same.correction(*decision)).max() > 0
    assert env.goal_corrector.recorded == 60
    with pytest.raises(ValueError, match=r"no learned correction; call learn\(\) of the wrapper"):
        env.corrector.learn()


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_goal_in_vector_environments(mode):
    inner = BisimulatorVectorEnv("lending", 3, population=9, horizon=7, autoreset_mode=mode)
    envs = BisimulatorVectorRewardWrapper(inner, goal="min-recall=1")
    envs.reset(seed=0)
    qualified = accepted = 0
    for _ in range(20):
        actions = envs.action_space.sample()
        _, rewards, terminated, truncated, info = envs.step(actions)
        said = read_vector_info(info, 3)
        qualified += (said.qualified * (said.group == 0)).sum()
        accepted += (said.qualified * said.accepted * (said.group == 0)).sum()
        assert (rewards == info["original_reward"])[~info["_original_reward"]].all()
        if mode is AutoresetMode.DISABLED and truncated.any():
            envs.reset(options={"reset_mask": terminated | truncated})
    assert envs.learn()
    assert envs.goal_corrector.describe()["recall_0"] == pytest.approx(accepted / qualified)


def test_both_corrections_and_shared_ones():
    both = BisimulatorRewardWrapper(Applicants(), goal="approval-gap=0", **OPTIONS)
    assert both.corrector.config.gauge == "centred"
    other = BisimulatorRewardWrapper(Applicants(), both.corrector, goal=both.goal_corrector)
    for env in (both, other):
        env.reset(seed=0)
        env.step(1)
    assert both.corrector.recorded == both.goal_corrector.recorded == 2
    with pytest.raises(ValueError, match="this wrapper has no goal"):
        _ = BisimulatorRewardWrapper(Applicants(), **OPTIONS).goal_corrector
