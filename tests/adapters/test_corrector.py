"""The correction on plain arrays: the method's own hooks on the most recent decisions, with constant shapes."""

import jax
import numpy as np
import pytest
from gymnasium import spaces

from bisimulator.adapters import Corrector
from bisimulator.adapters import _compiled_correction as compiled
from bisimulator.adapters.gymnasium.env import BisimulatorEnv
from bisimulator.methods.bisimulator import Config
from bisimulator.methods.hooks import Transitions

BOX = spaces.Box(0, 1, (1,), np.float32)
QUICK = Config(hidden=(8,), dynamics_steps=0, learning_rate=0.05, gauge="free")


def make(batch=128, config=QUICK, **options):
    return Corrector(BOX, spaces.Discrete(2), 2, config=config, batch=batch, **options)


def decisions(number, seed=0):
    """Accepting has a lower reward in the second group, at every score."""
    rng = np.random.default_rng(seed)
    obs, action, group = rng.random((number, 1)), rng.integers(2, size=number), rng.integers(2, size=number)
    return obs, action, (action * (1.0 - group)).astype(np.float32), group


def test_it_learns_like_the_method():
    mine = make()
    obs, action, reward, group = decisions(128)
    start = mine.state
    mine.record(obs, action, reward, group)
    assert mine.learn()
    rows = np.column_stack([obs, np.eye(2)[group]]).astype(np.float32)
    no = np.zeros(128, bool)
    batch = Transitions(rows, action, no, reward, rows, no, no, group, no, rows)
    key = jax.random.fold_in(jax.random.key(0), 2)  # the first one initialised the state
    expected, _ = jax.jit(mine.method.learn)(key, start, jax.tree.map(lambda x: x[:, None], batch))
    for a, b in zip(jax.tree.leaves(mine.state), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    shaped = mine.method.reward(expected, batch, ())
    np.testing.assert_allclose(reward + mine.correction(obs, action, group), shaped, rtol=1e-3, atol=1e-5)


def test_corrected_rewards_of_groups_become_equal():
    mine = make()
    for seed in range(150):
        mine.record(*decisions(128, seed))
        mine.learn()
    obs, action, reward, group = decisions(2000, 999)
    total = reward + mine.correction(obs, action, group)
    accepted = [total[(action == 1) & (group == g)].mean() for g in (0, 1)]
    assert abs(accepted[0] - accepted[1]) < 0.1  # without the correction: 1
    assert mine.describe()["j_rew"] < 0.5


def test_nothing_is_corrected_before_there_is_a_full_batch():
    mine = make()
    obs, action, reward, group = decisions(127)
    mine.record(obs, action, reward, group)
    assert not mine.learn()
    assert not mine.correction(obs, action, group).any()
    mine.record(obs[:1], action[:1], reward[:1], group[:1])
    assert mine.learn()
    assert mine.correction(obs, action, group).all()


def test_decisions_about_nobody_are_left_out():
    mine = make(batch=4)
    obs, action, reward, group = decisions(6)
    group[[1, 4]] = -1
    mine.record(obs, action, reward, group)
    assert mine.recorded == 4
    assert mine.learn()
    extra = mine.correction(obs, action, group)
    assert not extra[[1, 4]].any()
    assert extra[[0, 2, 3, 5]].all()


def test_it_learns_from_the_most_recent_decisions():
    mine = make(batch=4)
    for i in range(7):
        mine.record(np.array([[i / 10]]), [1], [float(i)], [i % 2])
    assert sorted(mine._recent.reward) == [3, 4, 5, 6]
    mine.record(np.zeros((9, 1)), np.ones(9), np.arange(10.0, 19), np.zeros(9, int))
    assert sorted(mine._recent.reward) == [15, 16, 17, 18]


def test_corrections_do_not_depend_on_the_batch_and_little_is_compiled():
    mine = make()
    mine.record(*decisions(128))
    mine.learn()
    obs, action, _, group = decisions(100)
    whole = mine.correction(obs, action, group)
    programs = compiled.corrections._cache_size()
    for number in range(65, 101):
        part = mine.correction(obs[:number], action[:number], group[:number])
        np.testing.assert_allclose(part, whole[:number], rtol=1e-5, atol=1e-6)
    assert compiled.corrections._cache_size() == programs
    programs = compiled.learn._cache_size()
    for number in (1, 50, 300):
        mine.record(*decisions(number))
        mine.learn()
    assert compiled.learn._cache_size() == programs
    assert mine.correction(obs[:0], action[:0], group[:0]).shape == (0,)


def test_it_continues_from_its_state_dict():
    one, other = make(), make(seed=7)
    one.record(*decisions(150))
    one.learn()
    other.load_state_dict(one.state_dict())
    for mine in (one, other):
        mine.record(*decisions(20, 5))
        mine.learn()
    obs, action, _, group = decisions(10)
    np.testing.assert_array_equal(one.correction(obs, action, group), other.correction(obs, action, group))
    with pytest.raises(ValueError, match="saved for another environment or configuration"):
        make(batch=64).load_state_dict(one.state_dict())
    with pytest.raises(ValueError, match="state_000 is missing"):
        make().load_state_dict({})


def test_from_an_environment():
    env = BisimulatorEnv("lending", population=10, horizon=20)
    mine = Corrector.from_env(env, alpha=2.0, batch=8, hidden=(4,))
    assert (mine.config.alpha, mine.batch, mine.encoding.size) == (2.0, 8, 5)
    np.testing.assert_array_equal(mine.omega, np.ones((2, 2)))
    assert mine.bounds == (0.0, 2.0)
    assert repr(mine) == "Corrector(groups=2, actions=2, alpha=2, batch=8, recorded=0, updates=0)"
    assert ">j_rew</th><td>0</td>" in mine._repr_html_()
    with pytest.raises(TypeError, match="no parameter 'alhpa'"):
        Corrector.from_env(env, alhpa=1)


def test_wrong_data():
    mine = make(batch=4)
    obs, action, reward, group = decisions(4)
    with pytest.raises(ValueError, match="group must be below num_groups = 2, got 5"):
        mine.record(obs, action, reward, [0, 1, 5, 0])
    with pytest.raises(ValueError, match="rewards must be finite"):
        mine.record(obs, action, reward * np.nan, group)
    with pytest.raises(ValueError, match="observations must be finite"):
        mine.record(obs * np.nan, action, reward, group)
    mine.record(obs, np.ones(4), [3e38, -3e38, 3e38, -3e38], [0, 1, 0, 1])
    with pytest.raises(FloatingPointError, match="scale rewards and observations to about 1"):
        mine.learn()
