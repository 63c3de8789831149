"""Helpers of the convention: groups for environments that have none."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorWrapper

from bisimulator.adapters import WithGroups
from bisimulator.adapters._decisions import read_vector_info
from bisimulator.adapters.group_info import AdjustableEnv, env_attribute
from tests.adapters.applicants import Applicants


class Counter(gymnasium.Env):
    """Observations count upwards; an episode has three steps."""

    observation_space = spaces.Box(0, 100, (1,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.count = 0
        return np.zeros(1, np.float32), {"first": True}

    def step(self, action):
        self.count += 1
        return np.full(1, self.count, np.float32), float(action), False, self.count == 3, {"own": self.count}


def with_groups():
    return WithGroups(
        Counter(),
        group=lambda obs: int(obs[0]) % 2,
        num_groups=2,
        next_self=lambda before, action, after, info: before + action,
        qualified=lambda before, action, after, info: info["own"] == 2,
        accepted=lambda before, action, after, info: (action == 1, before[0] > 1),
    )


def test_info_is_about_the_person_decided_on():
    env = with_groups()
    obs, info = env.reset(seed=0)
    assert info == {"first": True}
    seen = []
    for action in (0, 1, 1):
        before = obs
        obs, _, _, truncated, info = env.step(action)
        assert info["group"] == int(before[0]) % 2
        np.testing.assert_array_equal(info["next_self_observation"], before + action)
        seen.append((info["qualified"], *info["accepted"]))
    assert seen == [(False, False, False), (True, True, False), (False, True, True)]
    assert truncated
    assert info["own"] == 3


def test_info_has_only_what_is_asked_for():
    env = WithGroups(Counter(), group=lambda obs: 0, num_groups=2)
    env.reset(seed=0)
    assert set(env.step(0)[4]) == {"own", "group"}


def test_attributes_inside_wrappers_and_vector_environments():
    single = gymnasium.wrappers.TimeLimit(with_groups(), 2)
    vector = VectorWrapper(SyncVectorEnv([with_groups] * 2))
    assert env_attribute(single, "num_groups") == env_attribute(vector, "num_groups") == 2
    assert env_attribute(single, "other") is env_attribute(vector, "other") is None


def test_the_protocol_can_be_checked_at_run_time():
    assert isinstance(Applicants(), AdjustableEnv)
    assert not isinstance(with_groups(), AdjustableEnv)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_groups_of_vector_environments(mode):
    """The group of each decision once, whatever the autoreset mode; -1 if a step only resets."""
    envs = SyncVectorEnv(
        [with_groups, lambda: gymnasium.wrappers.TimeLimit(with_groups(), 2)], autoreset_mode=mode
    )
    envs.reset(seed=0)
    groups = np.array([read_vector_info(envs.step(np.ones(2, int))[4], 2).group for _ in range(6)]).T.tolist()
    if mode is AutoresetMode.NEXT_STEP:
        assert groups == [[0, 1, 0, -1, 0, 1], [0, 1, -1, 0, 1, -1]]
    else:
        assert groups == [[0, 1, 0, 0, 1, 0], [0, 1, 0, 1, 0, 1]]
