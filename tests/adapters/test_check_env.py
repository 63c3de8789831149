"""The checker reports everything that is missing at once, and how to add it."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import SyncVectorEnv

from bisimulator.adapters import WithGroups, check_group_env
from bisimulator.adapters.gymnasium.env import BisimulatorEnv
from tests.adapters.applicants import Applicants


class Changed(Applicants):
    """Applicants with changes to their info."""

    def __init__(self, **changes):
        super().__init__()
        self.changes = changes

    def step(self, action):
        *rest, info = super().step(action)
        info = {k: v for k, v in (info | self.changes).items() if v is not None}
        return *rest, info


def test_environments_that_follow_the_convention_pass():
    result = check_group_env(BisimulatorEnv("lending", population=20, horizon=50), steps=60)
    assert (result.num_groups, sum(result.decisions), result.notes) == (2, 60, ())
    assert result.has_qualified
    assert result.has_next_self
    assert result.has_observation_params
    env = Applicants()
    result = check_group_env(env)
    assert result.notes == ()
    np.testing.assert_array_equal(env.observation_params, 0)  # unchanged
    assert "groups: 3" in str(result)
    assert "next_self_observation: yes" in str(result)
    assert repr(result) == f"GroupEnvCheck(num_groups=3, decisions={result.decisions}, notes=0)"
    assert "<th>next_self_observation</th><td>yes</td>" in result._repr_html_()


def test_everything_that_is_missing_is_reported_at_once():
    env = gymnasium.make("Pendulum-v1", disable_env_checker=True)
    with pytest.raises(ValueError, match="num_groups") as caught:
        check_group_env(env, steps=3)
    message = str(caught.value)
    assert message.count("\n- ") == 2
    assert "self.num_groups" in message
    assert "discretise them" in message
    assert "info['group']" in message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"group": 3}, r"must lie in 0..2 \(num_groups = 3\), got 3; count groups from 0"),
        ({"group": "red"}, "must be a whole number, got 'red'"),
        ({"group": np.array([1])}, "must be a whole number"),
        ({"next_self_observation": np.zeros(2)}, "must be an observation"),
    ],
)
def test_wrong_infos(change, message):
    with pytest.raises(ValueError, match=message):
        check_group_env(Changed(**change), steps=5)


def test_a_group_that_is_missing_in_some_steps():
    env = Applicants()
    step = env.step
    env.step = lambda action: step(action) if env.t % 2 else (*step(action)[:4], {})
    with pytest.raises(ValueError, match="info has no 'group' in 5 of 10 steps"):
        check_group_env(env, steps=10)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("observation_params_bounds", None, "observation_params_bounds is missing: add it"),
        ("observation_params", np.zeros((4, 1)), r"one row for each of 3 groups, got shape \(4, 1\)"),
        ("observation_params", np.full((3, 1), 9.0), "widen the bounds"),
        ("set_observation_params", lambda values: None, "store the values"),
    ],
)
def test_wrong_observation_params(name, value, message):
    env = Applicants()
    setattr(env, name, value)
    with pytest.raises(ValueError, match=message):
        check_group_env(env, steps=2)


def test_notes():
    env = Changed(group=0, qualified=None, next_self_observation=None)
    large = gymnasium.wrappers.TransformReward(env, lambda reward: 1000 * reward)
    notes = " ".join(check_group_env(large, steps=50).notes)
    for note in ("group 1 did not appear", "standard deviation of rewards", "no recall", "dynamics_steps=0"):
        assert note in notes


def test_environments_that_cannot_be_checked():
    with pytest.raises(ValueError, match="must be a single environment"):
        check_group_env(SyncVectorEnv([Applicants]))
    env = WithGroups(
        gymnasium.make("FrozenLake-v1", disable_env_checker=True), group=lambda obs: obs % 2, num_groups=2
    )
    assert isinstance(env.observation_space, spaces.Discrete)
    with pytest.raises(ValueError, match="score must say by which number people are matched"):
        check_group_env(env, steps=3)
    assert check_group_env(env, steps=30, score=lambda obs: obs // 4).num_groups == 2
