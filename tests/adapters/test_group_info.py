"""The convention's helpers: groups for environments that have none."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorWrapper

from bisimulator.adapters import WithGroups
from bisimulator.adapters.group_info import AdjustableEnv, groups_of, offered
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
    )


def test_info_speaks_of_the_person_decided_on():
    env = with_groups()
    obs, info = env.reset(seed=0)
    assert info == {"first": True}
    seen = []
    for action in (0, 1, 1):
        before = obs
        obs, _, _, truncated, info = env.step(action)
        assert info["group"] == int(before[0]) % 2
        np.testing.assert_array_equal(info["next_self_observation"], before + action)
        seen.append(info["qualified"])
    assert seen == [False, True, False]
    assert truncated
    assert info["own"] == 3


def test_what_is_not_asked_for_is_not_there():
    env = WithGroups(Counter(), group=lambda obs: 0, num_groups=2)
    env.reset(seed=0)
    assert set(env.step(0)[4]) == {"own", "group"}


def test_attributes_are_found_through_wrappers_and_vectors():
    single = gymnasium.wrappers.TimeLimit(with_groups(), 2)
    many = VectorWrapper(SyncVectorEnv([with_groups] * 2))
    assert offered(single, "num_groups") == offered(many, "num_groups") == 2
    assert offered(single, "other", 7) == offered(many, "other", 7) == 7


def test_the_protocol_can_be_asked_for():
    assert isinstance(Applicants(), AdjustableEnv)
    assert not isinstance(with_groups(), AdjustableEnv)


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_groups_of_vectors(mode):
    """Each decision's group once, whatever the autoreset mode; -1 where a step only begins anew."""
    envs = SyncVectorEnv(
        [with_groups, lambda: gymnasium.wrappers.TimeLimit(with_groups(), 2)], autoreset_mode=mode
    )
    envs.reset(seed=0)
    found = np.array([groups_of(envs.step(np.ones(2, int))[4], 2) for _ in range(6)]).T.tolist()
    if mode is AutoresetMode.NEXT_STEP:
        assert found == [[0, 1, 0, -1, 0, 1], [0, 1, -1, 0, 1, -1]]
    else:
        assert found == [[0, 1, 0, 0, 1, 0], [0, 1, 0, 1, 0, 1]]
