"""The compiled VecEnv compared with Stable-Baselines3's DummyVecEnv of single environments."""

import numpy as np
import pytest
from stable_baselines3.common.vec_env import DummyVecEnv

from bisimulator.adapters import BisimulatorEnv
from bisimulator.adapters.sb3 import BisimulatorVecEnv

SMALL = {"population": 8, "horizon": 12}


def assert_same(mine, expected, where=""):
    if isinstance(expected, dict):
        assert mine.keys() == expected.keys(), where
        for key in expected:
            assert_same(mine[key], expected[key], key)
    else:
        np.testing.assert_array_equal(mine, expected, where)


def test_same_as_a_dummy_vec_env():
    """In college, whose episodes end by termination and by truncation."""
    mine = BisimulatorVecEnv("college", 3, **SMALL)
    expected = DummyVecEnv([lambda: BisimulatorEnv("college", **SMALL)] * 3)
    mine.seed(5)
    expected.seed(5)
    np.testing.assert_array_equal(mine.reset(), expected.reset())
    rng, ends = np.random.default_rng(0), []
    for _ in range(60):
        actions = (rng.random(3) < 0.6).astype(int)
        ours, theirs = mine.step(actions), expected.step(actions)
        for a, b in zip(ours[:3], theirs[:3], strict=True):
            np.testing.assert_array_equal(a, b)
        for a, b in zip(ours[3], theirs[3], strict=True):
            assert_same(a, b)
        assert [info["accepted"] for info in ours[3]] == actions.astype(bool).tolist()
        ends += [info["TimeLimit.truncated"] for info in ours[3] if "terminal_observation" in info]
    assert {True, False} == set(ends)
    mine.close()


def test_attributes_are_set_for_all_environments():
    env = BisimulatorVecEnv("lending", 3, **SMALL)
    assert env.get_attr("num_groups", indices=[0, 2]) == [2, 2]
    assert env.has_attr("observation_params")
    assert not env.has_attr("no_such_thing")
    env.env_method("set_observation_params", np.full((2, 2), 0.5))
    assert (env.get_attr("observation_params")[2] == 0.5).all()
    with pytest.raises(ValueError, match="the same for all 3 environments, got indices=1; leave indices out"):
        env.env_method("set_observation_params", np.ones((2, 2)), indices=1)
    env.set_attr("render_mode", "rgb_array")
    assert env.get_attr("render_mode") == ["rgb_array"] * 3
    assert env.env_is_wrapped(DummyVecEnv) == [False] * 3
    shown = "Env('lending', groups=2, scores=7, population=8, horizon=12)"
    assert repr(env) == f"BisimulatorVecEnv({shown}, num_envs=3)"


def test_frames():
    env = BisimulatorVecEnv("college", 3, render_mode="rgb_array", **SMALL)
    env.reset()
    assert [frame.shape for frame in env.get_images()] == [(540, 960, 3)] * 3
