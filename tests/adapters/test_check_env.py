"""The checker says what is missing and how to add it, all at once."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv

from bisimulator.adapters import WithGroups, check_group_env
from bisimulator.adapters.gymnasium.env import BisimulatorEnv
from tests.adapters.applicants import Applicants


class Changed(Applicants):
    """Applicants with another info."""

    def __init__(self, **changes):
        super().__init__()
        self.changes = changes

    def step(self, action):
        *rest, info = super().step(action)
        info = {k: v for k, v in (info | self.changes).items() if v is not None}
        return *rest, info


def test_our_environments_and_that_of_the_tests_pass():
    found = check_group_env(BisimulatorEnv("lending", population=20, horizon=50), steps=60)
    assert (found.num_groups, sum(found.decisions), found.notes) == (2, 60, ())
    assert found.has_qualified
    assert found.has_next_self
    assert found.has_observation_params
    env = Applicants()
    found = check_group_env(env)
    assert found.notes == ()
    np.testing.assert_array_equal(env.observation_params, 0)  # as it was
    assert "3 groups" in str(found)
    assert "next_self_observation: yes" in str(found)


def test_everything_that_is_missing_is_told_at_once():
    env = gymnasium.make("Pendulum-v1", disable_env_checker=True)
    with pytest.raises(ValueError, match="num_groups") as caught:
        check_group_env(env, steps=3)
    told = str(caught.value)
    assert told.count("\n- ") == 2
    assert "self.num_groups" in told
    assert "cut them into a few steps" in told
    assert "info['group']" in told


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"group": 3}, r"must lie in 0..2 \(num_groups = 3\), got 3; count groups from 0"),
        ({"group": "red"}, "must be a whole number, got 'red'"),
        ({"group": np.array([1])}, "must be a whole number"),
        ({"next_self_observation": np.zeros(2)}, "must be an observation"),
    ],
)
def test_wrong_infos(change, words):
    with pytest.raises(ValueError, match=words):
        check_group_env(Changed(**change), steps=5)


def test_a_group_that_is_told_sometimes():
    env = Applicants()
    step = env.step
    env.step = lambda action: step(action) if env.t % 2 else (*step(action)[:4], {})
    with pytest.raises(ValueError, match="info has no 'group' in 5 of 10 steps"):
        check_group_env(env, steps=10)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("observation_params_bounds", None, "observation_params_bounds is missing: add it"),
        ("observation_params", np.zeros((4, 1)), r"a row for each of 3 groups, got shape \(4, 1\)"),
        ("observation_params", np.full((3, 1), 9.0), "widen the bounds"),
        ("set_observation_params", lambda values: None, "store what is set"),
    ],
)
def test_wrong_observation_params(name, value, words):
    env = Applicants()
    setattr(env, name, value)
    with pytest.raises(ValueError, match=words):
        check_group_env(env, steps=2)


def test_notes():
    env = Changed(group=0, qualified=None, next_self_observation=None)
    loud = gymnasium.wrappers.TransformReward(env, lambda reward: 1000 * reward)
    notes = " ".join(check_group_env(loud, steps=50).notes)
    for words in ("group 1 did not appear", "rewards vary by", "no recall", "dynamics_steps=0"):
        assert words in notes


def test_other_refusals():
    with pytest.raises(ValueError, match="pass one of its copies"):
        check_group_env(SyncVectorEnv([Applicants]))
    env = WithGroups(
        gymnasium.make("FrozenLake-v1", disable_env_checker=True), group=lambda obs: obs % 2, num_groups=2
    )
    assert isinstance(env.observation_space, spaces.Discrete)
    with pytest.raises(ValueError, match="by what are people matched"):
        check_group_env(env, steps=3)
    assert check_group_env(env, steps=30, score=lambda obs: obs // 4).num_groups == 2
