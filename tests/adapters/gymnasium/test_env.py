"""The single environment compared with the core functions under it, and Gymnasium's rules."""

import dataclasses
import html

import gymnasium
import jax
import numpy as np
import pytest

import bisimulator
from bisimulator import registry
from bisimulator.adapters import BisimulatorEnv, ended_outcome
from bisimulator.adapters.gymnasium._batched_env import BatchedEnv, episode_key
from bisimulator.core import COUNTS, Decisions
from bisimulator.evaluation import metric_columns
from bisimulator.simulation.episodes import summarise

SMALL = {
    "lending": {"population": 20, "horizon": 130, "omega": ((1, 0.5), (1.5, 1))},
    "lending-conscientiousness": {"population": 20, "horizon": 130},
    "college": {"population": 20, "horizon": 130},
}


def actions_of(seed, number):
    return np.random.default_rng(seed).integers(2, size=number)


def run(env, seed, actions):
    """The observations of an episode, and what each step returned."""
    observations, rows = [env.reset(seed=seed)[0]], []
    for action in actions:
        obs, reward, terminated, truncated, info = env.step(int(action))
        observations.append(obs)
        rows.append((reward, terminated, truncated, info))
        if terminated or truncated:
            break
    return observations, rows


@pytest.mark.parametrize("name", SMALL)
def test_steps_are_those_of_the_core(name):
    """The same keys give the same episode and the same outcome as `core` and `simulation`."""
    env = BisimulatorEnv(name, **SMALL[name])
    observations, rows = run(env, 7, actions_of(0, 130))
    core_env = bisimulator.make(name, **SMALL[name])
    key = episode_key(gymnasium.utils.seeding.np_random(7)[0])
    k_reset, k_steps = jax.random.split(jax.random.wrap_key_data(key, impl="threefry2x32"))
    state = jax.jit(core_env.reset)(k_reset)
    np.testing.assert_array_equal(observations[0], jax.jit(core_env.observe)(state))
    step_once, steps = jax.jit(core_env.step), []
    for t, (reward, terminated, truncated, info) in enumerate(rows):
        k_step = jax.random.wrap_key_data(
            jax.random.key_data(k_steps) + np.array([0, t], np.uint32), impl="threefry2x32"
        )
        state, step = step_once(k_step, state, jax.numpy.int32(actions_of(0, 130)[t]))
        steps.append(step)
        np.testing.assert_array_equal(observations[t + 1], step.obs)
        np.testing.assert_array_equal(info["next_self_observation"], step.next_self_obs)
        assert (reward, terminated, truncated) == (step.reward, step.terminated, step.truncated)
        assert (info["group"], info["qualified"], info["cost"]) == (step.group, step.qualified, step.cost)
        assert info["accepted"] is bool(actions_of(0, 130)[t])
    together = jax.tree.map(lambda *leaves: np.stack(leaves), *steps)
    decisions = Decisions(
        obs=np.stack(observations[:-1]),
        action=actions_of(0, 130)[: len(rows)],
        reward=together.reward,
        group=together.group,
        qualified=together.qualified,
        cost=together.cost,
        next_self_obs=together.next_self_obs,
        valid=np.ones(len(rows), bool),
    )
    expected = jax.jit(summarise, static_argnums=2)(decisions, state, core_env.scenario, core_env.params)
    outcome = ended_outcome(rows[-1][-1])
    for field in ("counts", "true_scores", "observed_scores"):
        np.testing.assert_allclose(getattr(outcome, field), getattr(expected, field), rtol=1e-6)
    np.testing.assert_array_equal(outcome.approvals[-1], expected.approvals[-1])


def test_outcome_gives_every_metric():
    env = BisimulatorEnv("lending", population=20, horizon=130)
    _, rows = run(env, 0, np.ones(130, int))
    outcome = ended_outcome(rows[-1][-1])
    columns = metric_columns(env.env, outcome)
    assert columns["recall_g1"] == columns["recall_g2"] == 1
    assert columns["average_return"] == sum(reward for reward, *_ in rows)
    assert outcome.count("applied").sum() == 130
    assert outcome.people.sum() == 20
    assert outcome.approvals.shape == (100, 2)


@pytest.fixture
def reversed_lending():
    """Lending in which action 0 accepts."""
    scenario = registry.lookup("environment", "lending")
    changed = dataclasses.replace(
        scenario, action_names=("accept", "reject"), accepts=lambda action: jax.numpy.asarray(action) == 0
    )
    registry.register("environment", "reversed-lending", changed)
    yield "reversed-lending"
    registry.unregister("environment", "reversed-lending")


def test_the_scenario_says_which_actions_accept(reversed_lending):
    env = BisimulatorEnv(reversed_lending, population=5, horizon=3)
    _, rows = run(env, 0, (0, 1, 0))
    assert [info["accepted"] for *_, info in rows] == [True, False, True]
    assert ended_outcome(rows[-1][-1]).count("approved").sum() == 2
    env.reset()
    with pytest.raises(ValueError, match=r"action must be 0 \(accept\) or 1 \(reject\), got 2"):
        env.step(2)


def test_it_shows_its_parameters():
    env = BisimulatorEnv("lending", population=5, horizon=3)
    shown = "BisimulatorEnv(Env('lending', groups=2, scores=7, population=5, horizon=3))"
    assert repr(env) == shown
    assert env._repr_html_() == f"<pre>{html.escape(shown)}</pre>"


def test_outcome_comes_only_at_the_end():
    env = BisimulatorEnv("lending", population=5, horizon=3)
    _, rows = run(env, 0, (0, 1, 0))
    assert ["outcome" in info for *_, info in rows] == [False, False, True]
    with pytest.raises(ValueError, match="no episode ended"):
        ended_outcome(rows[0][-1])


def test_lending_truncates():
    _, rows = run(BisimulatorEnv("lending", population=5, horizon=3), 0, (1, 1, 1))
    assert [row[1:3] for row in rows] == [(False, False)] * 2 + [(False, True)]


@pytest.mark.parametrize(("horizon", "end"), [(5, (True, False)), (4, (False, True))])
def test_college_terminates_when_the_pool_is_empty(horizon, end):
    """Five admissions empty the pool of five; that is a termination also when the horizon ends there."""
    _, rows = run(BisimulatorEnv("college", population=5, horizon=horizon), 0, [1] * horizon)
    assert len(rows) == min(horizon, 5)
    assert rows[-1][1:3] == end


def test_seeds_repeat_and_the_generator_continues():
    env = BisimulatorEnv("lending", population=20)
    first, second, third = env.reset(seed=3)[0], env.reset()[0], env.reset()[0]
    again = BisimulatorEnv("lending", population=20)
    for expected, seed in ((first, 3), (second, None), (third, None)):
        np.testing.assert_array_equal(again.reset(seed=seed)[0], expected)
    one, other = (run(env, seed, np.ones(50, int))[0] for seed in (3, 4))
    assert not np.array_equal(one, other)


def test_unseeded_environments_differ():
    first, second = (
        run(BisimulatorEnv("lending", population=20), None, np.ones(30, int))[0] for _ in range(2)
    )
    assert not np.array_equal(first, second)


def test_one_person_in_one_group():
    observations, rows = run(BisimulatorEnv("lending", population=1, groups=1, horizon=3), 0, (1, 0, 1))
    assert observations[0].shape == (4,)
    assert rows[-1][2]


def test_very_long_horizons_keep_their_intervals_in_order():
    env = bisimulator.make("lending", population=20, horizon=2**31 - 2)
    batch = BatchedEnv(env, 1)
    batch.reset([0], np.zeros((1, 2), np.uint32))
    batch._batch = batch._batch._replace(t=jax.numpy.array([2**31 - 4], "int32"))
    batch.step(np.ones(1, np.int32))
    applied = batch.counts([0])[0, :, :, COUNTS.index("applied")].sum(-1)
    assert np.flatnonzero(applied).tolist() == [99]


@pytest.mark.parametrize(
    "action", [2, -1, 0.0, 1.5, True, "accept", None, [0, 1], np.array([[1, 1]]), np.nan]
)
def test_wrong_actions(action):
    env = BisimulatorEnv("lending", population=20)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"action must be 0 \(reject\) or 1 \(accept\), got"):
        env.step(action)
    env.step(1)  # the episode continues


@pytest.mark.parametrize("action", [1, np.int64(1), np.uint8(1), np.array(1), np.array([1])])
def test_right_actions(action):
    env = BisimulatorEnv("college", population=20)
    env.reset(seed=0)
    assert env.step(action)[1] in (-1.0, 1.0)


def test_order_of_calls():
    env = BisimulatorEnv("lending", population=5, horizon=3)
    with pytest.raises(gymnasium.error.ResetNeeded, match="before reset"):
        env.step(0)
    env.reset()
    for _ in range(3):
        env.step(0)
    with pytest.raises(gymnasium.error.ResetNeeded, match="the episode is over"):
        env.step(0)
    env.reset(options={"unknown": 1})  # ignored, as Gymnasium's own environments do
    env.step(0)


@pytest.mark.parametrize("seed", [-1, 1.5, "one"])
def test_wrong_seeds(seed):
    with pytest.raises(ValueError, match="seed must be"):
        BisimulatorEnv("lending", population=5).reset(seed=seed)


def test_observations_belong_to_the_caller():
    env = BisimulatorEnv("lending", population=20)
    obs, _ = env.reset(seed=0)
    obs[:] = 9
    later, _, _, _, info = env.step(1)
    later[:] = 9
    info["next_self_observation"][:] = 9
    assert env.step(1)[0] in env.observation_space


@pytest.mark.parametrize("view", ["queue", "life"])
def test_a_group_blind_environment_hides_the_group_from_observations_alone(view):
    seeing, blind = (
        BisimulatorEnv("lending", view=view, group_blind=blind, population=20, horizon=200)
        for blind in (False, True)
    )
    shown, hidden = seeing.reset(seed=1)[0], blind.reset(seed=1)[0]
    for _ in range(5):
        group = slice(1, 1 + seeing.num_groups)
        assert shown[group].sum() == 1
        assert not hidden[group].any()
        np.testing.assert_array_equal(np.delete(shown, group), np.delete(hidden, group))
        (shown, *_, info), (hidden, *_, blind_info) = seeing.step(1), blind.step(1)
        assert info["group"] == blind_info["group"]
        assert not blind_info["next_self_observation"][group].any()
