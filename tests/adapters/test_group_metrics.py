"""Group metrics of any environment and policy."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import bisimulator
from bisimulator.adapters import BisimulatorVectorEnv, GroupMetrics
from bisimulator.goals.moments import M
from bisimulator.policies import accept_all, thresholds
from tests.adapters.applicants import Applicants
from tests.adapters.loans import SHARES, Loans, kinds


def act(obs):
    return 2 if obs[0] > 1 else int(obs[0] > 0)


def act_on_batches(obs):
    return np.where(obs[:, 0] > 1, 2, obs[:, 0] > 0).astype(int)


def test_rates_are_those_of_all_decisions():
    env, rows = Loans(), []
    for episode in range(30):
        obs, _ = env.reset(seed=7 + episode)
        ended = False
        while not ended:
            action = act(obs)
            obs, reward, ended, _, info = env.step(action)
            rows.append((info["group"], action, reward))
    group, action, reward = np.array(rows).T
    metrics = bisimulator.group_metrics(Loans(), act, episodes=30, seed=7, accepted=kinds)
    np.testing.assert_array_equal(metrics.decisions, [(group == g).sum() for g in range(4)])
    for g in range(4):
        assert metrics.approval[g].estimate == pytest.approx((action[group == g] > 0).mean())
        assert metrics.kind(1).approval[g].estimate == pytest.approx((action[group == g] == 2).mean())
        assert metrics.group_return[g].estimate == pytest.approx(reward[group == g].mean())
        assert np.isnan(metrics.recall[g].estimate)  # the environment does not know who is qualified
    assert metrics.average_return.estimate == pytest.approx(reward.sum() / 30)
    values = [x.estimate for x in metrics.approval]
    assert metrics.gaps["approval"].estimate == pytest.approx(max(values) - min(values))


def test_intervals_cover_the_truth():
    """About 95% of them should. People of a group differ, and an episode is one person of one group."""
    rng = np.random.default_rng(0)
    missed, gaps = 0, 0
    for _ in range(200):
        sums = np.zeros((60, 2, 1, M.FINAL))
        group = rng.integers(2, size=60)
        applied = rng.integers(1, 10, size=60)
        approved = rng.binomial(
            applied, rng.beta(2, np.where(group == 0, 2, 4))
        )  # 1 / 2 and 1 / 3 on average
        place = (np.arange(60), group, 0)
        sums[(*place, M.APPLIED)], sums[(*place, M.APPROVED)] = applied, approved
        metrics = GroupMetrics("made up", sums, np.zeros(60))
        missed += sum(not x.low <= t <= x.high for x, t in zip(metrics.approval, (1 / 2, 1 / 3), strict=True))
        gaps += not metrics.gaps["approval"].low <= 1 / 6 <= metrics.gaps["approval"].high
    assert 8 <= missed <= 36  # of 400
    assert 3 <= gaps <= 22  # of 200


@pytest.mark.parametrize("mode", AutoresetMode)
def test_vector_environments_play_the_same_number_of_episodes(mode):
    """Every environment has its share of the episodes, so long ones are not missed."""

    class Uneven(Loans):
        """Customers of the first group apply eight times, the others once."""

        def step(self, action):
            obs, reward, ended, truncated, info = super().step(action)
            return obs, reward, ended or self.group > 0, truncated, info

    envs = SyncVectorEnv([Uneven] * 3, autoreset_mode=mode)
    metrics = bisimulator.group_metrics(envs, act_on_batches, episodes=400)
    people = metrics.decisions / [8, 1, 1, 1]
    assert people.sum() == 400
    np.testing.assert_allclose(people / 400, SHARES, atol=0.08)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_the_librarys_environments_and_policies(mode):
    envs = BisimulatorVectorEnv("lending", 3, autoreset_mode=mode, population=50, horizon=100)
    metrics = bisimulator.group_metrics(envs, thresholds([0.0, 0.6]), episodes=5)
    assert metrics.decisions.sum() == 500
    assert metrics.approval[0].estimate == metrics.recall[0].estimate == 1
    assert 0 < metrics.approval[1].estimate < metrics.recall[1].estimate < 1
    evaluation = bisimulator.evaluate(envs.env, thresholds([0.0, 0.6]), seeds=40).summary
    for g in range(2):  # two definitions of the same return per person
        assert metrics.group_return[g].estimate == pytest.approx(evaluation[f"return_g{g + 1}"][0], abs=0.6)


def test_a_gymnasium_id():
    metrics = bisimulator.group_metrics("bisimulator/LendingLife-v0", accept_all(), episodes=8)
    assert metrics.env == "bisimulator/LendingLife-v0"
    assert metrics.gaps["approval"] == (0, 0, 0)
    assert "group 1" in repr(metrics)
    assert "recall" in metrics._repr_html_()
    frame = metrics.to_frame()
    assert list(frame.columns) == ["metric", "kind", "group", "estimate", "low", "high"]
    assert len(frame) == 3 * 3
    assert frame[(frame.metric == "approval") & (frame.group == "gap")].estimate.item() == 0


def test_one_episode_has_no_interval():
    metrics = bisimulator.group_metrics(Applicants(horizon=20), lambda obs: 1, episodes=1)
    assert metrics.approval[0].estimate == 1
    assert np.isnan(metrics.approval[0].low)


def test_wrong_use():
    with pytest.raises(
        ValueError, match=r"policy of bisimulator.policies needs one of the library's environments"
    ):
        bisimulator.group_metrics(Loans(), accept_all())
    life = gymnasium.make("bisimulator/LendingLife-v0", population=10, horizon=20)
    timed = bisimulator.policies.clock(np.ones((20, 2, 7)))
    with pytest.raises(ValueError, match=r"use bisimulator.evaluate"):
        bisimulator.group_metrics(life, timed)
    with pytest.raises(TypeError, match="got 3 as a policy"):
        bisimulator.group_metrics(Loans(), 3)
    with pytest.raises(ValueError, match="does not say how many groups"):
        bisimulator.group_metrics("CartPole-v1", lambda obs: 0)
    with pytest.raises(ValueError, match="info has no 'group'"):
        bisimulator.group_metrics("CartPole-v1", lambda obs: 0, num_groups=2)
    with pytest.raises(ValueError, match="group must be below num_groups = 2"):
        bisimulator.group_metrics(Loans(), act, num_groups=2)
    with pytest.raises(ValueError, match="kind must be at most 0"):
        bisimulator.group_metrics(Loans(), act, episodes=2).kind(1)
