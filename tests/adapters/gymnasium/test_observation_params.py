"""omega can be set while an environment runs; it changes what is observed and nothing else."""

import numpy as np
import pytest

from bisimulator.adapters import AdjustableEnv, BisimulatorEnv, BisimulatorVectorEnv


def test_the_environments_follow_the_protocol():
    for env in (BisimulatorEnv("college"), BisimulatorVectorEnv("lending", 2)):
        assert isinstance(env, AdjustableEnv)
        assert env.observation_params.shape == (2, len(env.observation_params_names))
        low, high = env.observation_params_bounds
        assert (env.observation_params >= low).all()
        assert (env.observation_params <= high).all()
        assert list(env.group_entries) == [1, 2]


@pytest.mark.parametrize("make", [BisimulatorEnv, lambda name, **p: BisimulatorVectorEnv(name, 1, **p)])
def test_setting_omega_is_the_same_as_making_the_environment_with_it(make):
    omega, small = ((0.5, 2.0), (1.5, 0.25)), {"population": 5, "horizon": 40}
    changed, made, plain = (
        make("lending", **small),
        make("lending", omega=omega, **small),
        make("lending", **small),
    )
    changed.set_observation_params(omega)
    np.testing.assert_allclose(changed.observation_params, omega)
    rewards, differs = [], False
    for env in (changed, made, plain):
        env.reset(seed=3)
    for _ in range(40):
        action = 1 if isinstance(plain, BisimulatorEnv) else np.ones(1, int)
        steps = [env.step(action) for env in (changed, made, plain)]
        np.testing.assert_array_equal(steps[0][0], steps[1][0])
        differs |= bool((steps[0][0] != steps[2][0]).any())
        rewards.append([step[1] for step in steps])
    assert differs
    np.testing.assert_array_equal(np.array(rewards)[:, 0], np.array(rewards)[:, 2])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((3, 2)), r"shape \(2, 2\)"),
        (np.full((2, 2), 2.5), r"\[0, 2\], got 2.5"),
        (np.full((2, 2), np.nan), "finite"),
        (1.0, "2 dimension"),
    ],
)
def test_wrong_values(values, message):
    with pytest.raises(ValueError, match=message):
        BisimulatorEnv("lending").set_observation_params(values)
