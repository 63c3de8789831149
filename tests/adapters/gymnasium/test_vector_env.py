"""The vector environment compared with Gymnasium's SyncVectorEnv of single environments, in every autoreset mode."""

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import bisimulator
from bisimulator.adapters import BisimulatorEnv, BisimulatorVectorEnv, ended_outcome
from bisimulator.adapters.gymnasium import _batched_env as compiled
from bisimulator.adapters.gymnasium._batched_env import BatchedEnv
from bisimulator.evaluation import metric_columns
from tests.matrix import some

NUM_ENVS = 4
# college environments end at different times, by termination or truncation
SMALL = {"lending": {"population": 20, "horizon": 30}, "college": {"population": 8, "horizon": 30}}


def pair(name, mode):
    singles = [lambda: BisimulatorEnv(name, **SMALL[name])] * NUM_ENVS
    return BisimulatorVectorEnv(name, NUM_ENVS, autoreset_mode=mode, **SMALL[name]), SyncVectorEnv(
        singles, autoreset_mode=mode
    )


def assert_same(mine, expected, where=""):
    """Equal trees; a key that Gymnasium leaves out may be masked for every environment."""
    if isinstance(expected, dict):
        for key in mine.keys() - expected.keys():
            assert not mine[key if key.startswith("_") else f"_{key}"].any(), (where, key)
        for key in expected:
            assert_same(mine[key], expected[key], f"{where}.{key}")
    elif expected is None:
        assert mine is None, where
    elif isinstance(expected, tuple) or np.asarray(expected).dtype.kind == "O":
        for one, other in zip(mine, expected, strict=True):
            assert_same(one, other, where)
    else:
        np.testing.assert_array_equal(mine, expected, where)


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("name", some(SMALL, ["college"]))
def test_same_as_gymnasiums_sync_vector_env(name, mode):
    mine, expected = pair(name, mode)
    assert mine.metadata["autoreset_mode"] is mode
    assert_same(mine.reset(seed=5), expected.reset(seed=5))
    rng, ends = np.random.default_rng(0), 0
    for _ in range(75):
        actions = (rng.random(NUM_ENVS) < 0.4).astype(int)
        result = mine.step(actions)
        assert_same(result, expected.step(actions))
        ended = result[2] | result[3]
        ends += ended.sum()
        if mode is AutoresetMode.DISABLED and ended.any():
            assert_same(
                mine.reset(options={"reset_mask": ended}), expected.reset(options={"reset_mask": ended})
            )
    assert ends >= 2 * NUM_ENVS
    assert all(
        a.bit_generator.state == b.bit_generator.state
        for a, b in zip(mine.np_random, expected.np_random, strict=True)
    )


def test_college_ends_both_ways():
    """The comparison above covers terminations and truncations, and environments that end alone."""
    env, rng, seen = (
        BisimulatorVectorEnv("college", NUM_ENVS, **SMALL["college"]),
        np.random.default_rng(0),
        set(),
    )
    env.reset(seed=5)
    for _ in range(75):
        _, _, terminated, truncated, _ = env.step((rng.random(NUM_ENVS) < 0.4).astype(int))
        assert not (terminated & truncated).any()
        seen |= {
            (kind, bool(flags.all()))
            for kind, flags in (("term", terminated), ("trunc", truncated))
            if flags.any()
        }
    assert {kind for kind, _ in seen} == {"term", "trunc"}
    assert ("term", False) in seen


@pytest.mark.parametrize("name", some(SMALL, ["college"]))
def test_an_environment_does_not_depend_on_num_envs(name):
    few, many = (BisimulatorVectorEnv(name, n, **SMALL[name]) for n in (2, NUM_ENVS))
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(few.reset(seed=8)[0], many.reset(seed=8)[0][:2])
    for _ in range(65):
        actions = rng.integers(2, size=NUM_ENVS)
        for one, other in zip(few.step(actions[:2])[:4], many.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(one, other[:2])


def test_seeds_repeat_and_the_generators_continue():
    env, again = (BisimulatorVectorEnv("lending", NUM_ENVS, **SMALL["lending"]) for _ in range(2))
    first, second = env.reset(seed=[3, 1, 4, 1])[0], env.reset()[0]
    np.testing.assert_array_equal(first[1], first[3])
    np.testing.assert_array_equal(again.reset(seed=[3, 1, 4, 1])[0], first)
    np.testing.assert_array_equal(again.reset(seed=[None, 1, None, None])[0][[0, 2, 3]], second[[0, 2, 3]])
    assert env.np_random_seed == (3, 1, 4, 1)
    assert not np.array_equal(
        env.reset()[0], BisimulatorVectorEnv("lending", NUM_ENVS, **SMALL["lending"]).reset()[0]
    )


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_info_says_which_decisions_accepted(mode):
    env = BisimulatorVectorEnv("lending", NUM_ENVS, autoreset_mode=mode, **SMALL["lending"])
    env.reset(seed=0)
    actions = np.array([0, 1, 1, 0])
    for step in range(1, 32):
        *_, info = env.step(actions)
        final = mode == "SameStep" and step == 30
        source = info["final_info"] if final else info
        decided = not (mode == "NextStep" and step == 31)  # that step only resets
        assert source["accepted"].tolist() == (actions.astype(bool) & decided).tolist()
        assert source["_accepted"].tolist() == [decided] * NUM_ENVS


def test_it_shows_its_parameters():
    env = BisimulatorVectorEnv("lending", NUM_ENVS, **SMALL["lending"])
    shown = "Env('lending', groups=2, scores=7, population=20, horizon=30)"
    assert repr(env) == f"BisimulatorVectorEnv({shown}, num_envs=4, autoreset_mode='NextStep')"
    assert "num_envs=4" in env._repr_html_()


def test_masked_reset_leaves_the_others_alone():
    env = BisimulatorVectorEnv("lending", NUM_ENVS, autoreset_mode="Disabled", **SMALL["lending"])
    env.reset(seed=0)
    before = env.step(np.ones(NUM_ENVS, int))[0]
    after = env.reset(options={"reset_mask": np.array([True, False, True, False])})[0]
    np.testing.assert_array_equal(after[[1, 3]], before[[1, 3]])
    truncated = [env.step(np.ones(NUM_ENVS, int))[3] for _ in range(29)][-1]
    assert truncated.tolist() == [False, True, False, True]
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"environments 1, 3 are over .*reset_mask"):
        env.step(np.ones(NUM_ENVS, int))


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_outcomes_of_the_ended_environments(mode):
    env = BisimulatorVectorEnv("college", NUM_ENVS, autoreset_mode=mode, **SMALL["college"])
    env.reset(seed=5)
    rng, rewards, skip = np.random.default_rng(0), np.zeros(NUM_ENVS), np.zeros(NUM_ENVS, bool)
    for _ in range(75):
        _, reward, terminated, truncated, info = env.step((rng.random(NUM_ENVS) < 0.4).astype(int))
        rewards = np.where(skip, 0, rewards + reward)
        ended = terminated | truncated
        if ended.any():
            columns = metric_columns(env.env, ended_outcome(info))
            np.testing.assert_array_equal(columns["average_return"], rewards[ended])
        if mode == "SameStep":
            rewards[ended] = 0
        else:
            skip = ended


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("num_envs", [1, 3])
def test_a_step_does_not_copy_the_population(name, num_envs):
    """No instruction of the compiled step makes a second array of all people, so its cost does not grow with them."""
    batch = BatchedEnv(bisimulator.make(name, population=12_345), num_envs)
    actions = np.zeros(num_envs, np.int32)
    program = compiled._step.lower(
        batch.env.scenario, batch._batch, batch._keys, actions, batch.env.params
    ).compile()
    lines = [line for line in program.as_text().splitlines() if "12345" in line]
    assert any("scatter(" in line or "dynamic-update-slice(" in line for line in lines)
    assert not [line for line in lines if " copy(" in line]


@pytest.mark.parametrize("wrapper", [gymnasium.wrappers.vector.RecordEpisodeStatistics])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_gymnasiums_wrappers_work(wrapper, mode):
    env = wrapper(BisimulatorVectorEnv("lending", NUM_ENVS, autoreset_mode=mode, **SMALL["lending"]))
    env.reset(seed=0)
    infos = [env.step(np.zeros(NUM_ENVS, int))[-1] for _ in range(31)]
    ends = [info for info in infos if "episode" in info or "episode" in info.get("final_info", {})]
    assert len(ends) == 1


def test_order_of_calls():
    env = BisimulatorVectorEnv("lending", NUM_ENVS, **SMALL["lending"])
    with pytest.raises(gymnasium.error.ResetNeeded, match="before reset"):
        env.step(np.zeros(NUM_ENVS, int))
    env.reset(options={"reset_mask": np.array([True, False, False, False])})
    with pytest.raises(gymnasium.error.ResetNeeded, match="before reset"):
        env.step(np.zeros(NUM_ENVS, int))


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1, 2, 0], r"0 \(reject\) or 1 \(accept\), got .*2.* for environments 2"),
        ([-1, 1, 0, -5], "for environments 0, 3"),
        ([0.0, 1.0, 0.0, 1.0], "pass integers"),
        ([0, 1], r"shape \(4,\), got \(2,\)"),
        (0, r"shape \(4,\), got \(\)"),
        ("accept", "shape"),
        ([[0, 1, 0, 1]], "shape"),
        (None, "shape"),
    ],
)
def test_wrong_actions(actions, message):
    env = BisimulatorVectorEnv("lending", NUM_ENVS, **SMALL["lending"])
    env.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        env.step(actions)


def test_actions_as_other_arrays():
    env = BisimulatorVectorEnv("lending", NUM_ENVS, **SMALL["lending"])
    env.reset(seed=0)
    for actions in (jax.numpy.ones(NUM_ENVS, "int32"), [1, 1, 1, 1], np.ones(NUM_ENVS, np.uint8)):
        assert set(env.step(actions)[1]) <= {-1.0, 1.0}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda env: env.reset(seed=[1, 2]), r"one per environment \(4\), got 2"),
        (lambda env: env.reset(seed=-1), "seed must be at least 0"),
        (lambda env: env.reset(seed=[0, 1, 2, -3]), "seed must be at least 0"),
        (lambda env: env.reset(options={"reset_mask": np.zeros(4, bool)}), "at least one is True"),
        (lambda env: env.reset(options={"reset_mask": np.ones(4, int)}), "4 booleans"),
        (lambda env: BisimulatorVectorEnv("lending", 0), "num_envs must be at least 1"),
        (
            lambda env: BisimulatorVectorEnv("lending", 2, autoreset_mode="Sometimes"),
            "'NextStep', 'SameStep', 'Disabled'",
        ),
        (lambda env: BisimulatorVectorEnv("lending", 2, render_mode="human"), "Known: rgb_array"),
        (lambda env: BisimulatorVectorEnv("lendin", 2), "Did you mean 'lending'"),
    ],
)
def test_wrong_calls(call, message):
    env = BisimulatorVectorEnv("lending", NUM_ENVS, **SMALL["lending"])
    with pytest.raises(ValueError, match=message):
        call(env)


def test_made_by_gymnasium():
    env = gymnasium.make_vec(
        "bisimulator/College-v0",
        NUM_ENVS,
        "vector_entry_point",
        autoreset_mode=AutoresetMode.SAME_STEP,
        **SMALL["college"],
    )
    assert isinstance(env, BisimulatorVectorEnv)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    obs, info = env.reset(seed=0)
    assert obs in env.observation_space
    assert info == {}
    env.close()
