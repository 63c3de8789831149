"""Gymnasium environments in which a step decides on all groups at once."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import bisimulator
from bisimulator.adapters import ended_outcome, gymnasium_id
from bisimulator.evaluation import metric_columns

SMALL = {
    "attention": {"groups": 3, "units": 4, "horizon": 5},
    "college-threshold": {"applicants": 6, "costs": (2.0, 5.0), "horizon": 5},
    "infectious": {"edges": [(0, 1), (1, 2), (2, 3)], "groups": [0, 0, 1, 1], "horizon": 5},
}


def make(name, **other):
    return gymnasium.make(gymnasium_id(name), **SMALL[name], **other)


def play(env, seed):
    """Observations, rewards and infos of an episode with the actions that a seed samples."""
    env.action_space.seed(seed)
    obs, _ = env.reset(seed=seed)
    steps = [(obs, 0.0, {})]
    ended = False
    while not ended:
        obs, reward, terminated, truncated, info = env.step(env.action_space.sample())
        steps.append((obs, reward, info))
        ended = terminated or truncated
    return steps


@pytest.mark.filterwarnings(
    "ignore:.*we recommend using a symmetric and normalized space"
)  # the literature has [-3, 3]
@pytest.mark.parametrize("name", SMALL)
def test_gymnasium_accepts_the_environment(name):
    env = make(name, render_mode="rgb_array")
    check_env(env.unwrapped, skip_render_check=True)
    env.reset(seed=0)
    before = env.render()
    env.step(env.action_space.sample())
    assert before.shape == env.render().shape == (540, 960, 3)
    assert (before != env.render()).any()
    env.close()


@pytest.mark.parametrize("name", SMALL)
def test_info_says_what_groups_needed_and_received_and_the_end_has_the_outcome(name):
    env = make(name)
    steps = play(env, 3)
    scenario, groups = env.unwrapped.env.scenario, env.unwrapped.env.num_groups
    for _, reward, info in steps[1:]:
        assert set(scenario.tallies) <= set(info)
        assert "group" not in info
        assert info["supply"].shape == (groups,)
        assert reward == pytest.approx(info["reward"].sum(), abs=1e-5)
    outcome = ended_outcome(steps[-1][2])
    for tally in scenario.tallies:
        total = sum(info[tally] for _, _, info in steps[1:])
        np.testing.assert_allclose(outcome.count(tally), total, rtol=1e-5)
    columns = metric_columns(env.unwrapped.env, outcome)
    assert columns["reward_per_step"] == pytest.approx(sum(r for _, r, _ in steps) / 5, abs=1e-5)
    np.testing.assert_allclose(outcome.approvals[-1], outcome.supply)
    np.testing.assert_allclose(outcome.steps, 5)


@pytest.mark.parametrize("name", SMALL)
def test_a_vector_environment_is_as_many_single_ones(name):
    envs = gymnasium.make_vec(gymnasium_id(name), num_envs=2, autoreset_mode="SameStep", **SMALL[name])
    singles = [make(name) for _ in range(2)]
    obs, _ = envs.reset(seed=7)
    np.testing.assert_array_equal(obs, [single.reset(seed=7 + i)[0] for i, single in enumerate(singles)])
    envs.action_space.seed(0)
    for t in range(5):
        actions = envs.action_space.sample()
        obs, rewards, _, truncated, info = envs.step(actions)
        results = [single.step(action) for single, action in zip(singles, actions, strict=True)]
        np.testing.assert_allclose(rewards, [result[1] for result in results])
        assert truncated.tolist() == [t == 4] * 2
        shown = info["final_info"] if t == 4 else info
        np.testing.assert_array_equal(shown["demand"], [result[4]["demand"] for result in results])
    outcome = ended_outcome(info)
    np.testing.assert_allclose(outcome.supply, [ended_outcome(result[4]).supply for result in results])


def test_wrong_actions_and_options_are_refused():
    env = make("attention")
    env.reset(seed=0)
    for action in (np.zeros(2), np.full(3, 4.0), "a"):
        with pytest.raises(
            ValueError, match=r"action must be an array of shape \(3,\) with numbers from -3 to 3"
        ):
            env.unwrapped.step(action)
    env = make("infectious")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="action must be a whole number from 0 to 4"):
        env.unwrapped.step(5)
    with pytest.raises(ValueError, match="group_blind=True would hide nothing"):
        make("infectious", group_blind=True)
    with pytest.raises(ValueError, match="'infectious' has no life view"):
        bisimulator.make("infectious").life()
